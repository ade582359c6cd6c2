/**
 * The one place that makes events whole and calls listeners.
 *
 * @module
 */
import type { EventBase, RuntimeEvent, RuntimeEventListener } from "./events.ts";

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** An event without what says whose it is. */
export type OwnEvent = DistributiveOmit<RuntimeEvent, keyof EventBase>;

/**
 * @param event what happened
 * @param connectionId id of the connection
 * @param scope scope of the session, when it has one
 * @param generation which session of both
 * @returns the whole event
 */
export function eventOf(
  event: OwnEvent,
  connectionId: string,
  scope: string | undefined,
  generation: number,
): RuntimeEvent {
  return { ...event, connectionId, ...(scope === undefined ? {} : { scope }), generation } as RuntimeEvent;
}

/**
 * Calls a listener; one that throws, or is async and rejects, harms nothing.
 *
 * @param listener the listener, if any
 * @param event the event
 */
export function emit(listener: RuntimeEventListener | undefined, event: RuntimeEvent): void {
  try {
    const returned = listener?.(event) as unknown; // An async function fits the type; it is not waited for.
    if (returned instanceof Promise) returned.catch(() => {});
  } catch {
    // The listener's failure is its own; sessions are shared by callers that know nothing of it.
  }
}
