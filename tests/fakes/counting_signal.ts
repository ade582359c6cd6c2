/** An abort signal that counts its listeners. */
export function countingSignal(): { signal: AbortSignal; abort: (reason?: unknown) => void; listeners: () => number } {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  const live = new Set<unknown>();
  signal.addEventListener = ((type: string, listener: () => void, options?: AddEventListenerOptions) => {
    if (!live.has(listener)) listeners++;
    live.add(listener);
    add(type as "abort", listener, options);
  }) as typeof signal.addEventListener;
  signal.removeEventListener = ((type: string, listener: () => void) => {
    if (live.delete(listener)) listeners--;
    remove(type as "abort", listener);
  }) as typeof signal.removeEventListener;
  return { signal, abort: (reason) => controller.abort(reason), listeners: () => listeners };
}
