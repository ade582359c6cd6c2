/**
 * A caller's wait for a session: ended by the session, a failure, the caller's signal or a limit, whichever is first.
 *
 * @module
 */
import type { LiveSession } from "./live_session.ts";
import { queueTimeoutError } from "./session_errors.ts";
import type { Slot, SlotConfig } from "./slot.ts";
import type { FollowedCall } from "./telemetry_hooks.ts";
import { startTimer } from "./timers.ts";

/** How long a caller waits. */
export interface WaitLimits {
  /** Gives the wait up: rejects with `signal.reason`. */
  signal?: AbortSignal | undefined;
  /** When the wait began, as `Date.now()`. */
  since: number;
  /** Longest wait from there, in milliseconds; `Infinity` for none. */
  limitMs: number;
  /** Who follows the call that waits. */
  telemetry?: FollowedCall | null | undefined;
}

/**
 * Waits in a slot until `use` has got its session; each way out removes the timer and the listener.
 *
 * @param slot where to wait
 * @param config what the session has to be opened with
 * @param limits signal and limit
 * @param use takes the session over, in the turn in which it comes
 * @returns what `use` returned
 */
export function waitInSlot<T>(
  slot: Slot,
  config: SlotConfig,
  limits: WaitLimits,
  use: (live: LiveSession) => T | Promise<T>,
): Promise<T> {
  const { signal, since, limitMs, telemetry } = limits;
  return new Promise((resolve, reject) => {
    const settle = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    };
    const deliver = (live: LiveSession) => {
      settle();
      resolve(use(live));
    };
    const fail = (error: unknown) => {
      settle();
      reject(error);
    };
    const leave = slot.join({ deliver, fail, telemetry }, config);
    const giveUp = (reason: unknown) => {
      leave();
      fail(reason);
    };
    const onAbort = () => giveUp(signal!.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const left = limitMs === Infinity ? Infinity : Math.max(0, limitMs - (Date.now() - since));
    const timer = startTimer(() => giveUp(queueTimeoutError(slot.connectionId, since, limitMs)), left);
  });
}
