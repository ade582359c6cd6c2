/**
 * Tells a wedged server from a slow one. Pure: the clock is an argument.
 *
 * @module
 */

/** Two timeouts in a row, and nothing at all from the server in between: it is wedged. */
export class Silence {
  #received: number | undefined;
  #lastTimeoutAt = 0;

  /** A call ended otherwise than by a timeout. */
  broken(): void {
    this.#received = undefined;
  }

  /**
   * A call timed out.
   *
   * @param received messages that ever came from the server
   * @param startedAt when the call was sent; one that was sent before the last timeout tells nothing new
   * @param now milliseconds, of the same clock
   * @returns true when the server is to be given up
   */
  timedOut(received: number, startedAt: number, now: number): boolean {
    const wedged = this.#received === received && startedAt >= this.#lastTimeoutAt;
    this.#received = received;
    this.#lastTimeoutAt = now;
    return wedged;
  }
}
