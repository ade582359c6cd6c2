/**
 * The stdio transport: one server as a child process, one JSON-RPC message a line (MCP 2025-11-25, Transports, stdio).
 *
 * @module
 */
import type { AuthRecord } from "../auth.ts";
import { mcpAuthEnv } from "../auth.ts";
import type { McpSourceConnection, StdioSourceTransport } from "../connection.ts";
import type { Delivery, McpRuntimeError, ProcessError } from "../errors.ts";
import { jsonText } from "../json.ts";
import { DEFAULT_LIMITS, limitOf } from "../limits.ts";
import { excerpt, type Redactor, redactorFor } from "../secrets.ts";
import { settledWithin, startTimer, type Timer } from "../timers.ts";
import { readEnvelope, readTrailingId } from "./envelope.ts";
import { ownChild } from "./exit_hook.ts";
import { MessageFramer } from "./framing.ts";
import type { JsonRpcMessage, McpTransport, RequestId, TransportSendOptions } from "./message.ts";
import type { TransportOptions } from "./mod.ts";
import type { ProcessHost, ServerProcess, SpawnRequest } from "./process.ts";
import { processHost } from "./process_host.ts";
import { spawnError, spawnRequest, startupHint } from "./spawn.ts";
import { StderrLines, StderrTail } from "./stderr_tail.ts";
import { StdioErrors, type StdioPhase } from "./stdio_errors.ts";
import { endProcessTree, type TerminateLimits } from "./terminate.ts";
import { WriteQueue } from "./write_queue.ts";

/** After the process has ended, how long its pipes may stay silent before what is on its way counts as delivered. */
const DRAIN_MS = 100;
/** The longest that such an after-run may last when a grandchild goes on writing. */
const MAX_DRAIN_MS = 1_000;
/** After a pipe broke, how long the process may take to end by itself and so to tell why. */
const BROKEN_PIPE_MS = 500;
/** How long the end of a line that is too long is waited for when only it can tell which request it answers. */
const TRAILING_ID_MS = 1_000;
/** A server that never finished its handshake has nothing to save, so the end of its stdin gets this long at most. */
const UNREADY_STDIN_MS = 250;

type State = "new" | "starting" | "open" | "ending" | "ended";

/**
 * Carries messages to a server that is a child process of this program.
 *
 * - The process, and on POSIX its whole group, is ended by `close`, by a failed `start` and with this program.
 * - Whether the server is alive is decided by the process, not by its pipes; what it wrote before it ended is delivered.
 * - Lines that are no messages are skipped and counted in {@linkcode StdioTransport.skippedLines}.
 */
export class StdioTransport implements McpTransport {
  readonly #connection: McpSourceConnection;
  readonly #transport: StdioSourceTransport;
  readonly #auth: AuthRecord | null;
  readonly #options: TransportOptions;
  readonly #redactor: Redactor;
  readonly #errors: StdioErrors;
  readonly #maxBytes: number;
  readonly #terminate: TerminateLimits;
  readonly #framer: MessageFramer;
  readonly #writes: WriteQueue;
  readonly #tail: StderrTail;
  readonly #lines: StderrLines | undefined;
  #state: State = "new";
  #process: ServerProcess | undefined;
  #started: Promise<void> = Promise.resolve();
  #ending: Promise<void> | undefined;
  #disown: (() => Promise<void>) | undefined;
  #ready = false;
  #idle = false;
  #lost: McpRuntimeError | undefined;
  #received = 0;
  #lastOutput = 0;
  #skippedLines = 0;
  #awaitingTrailingId: Timer | undefined;

  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  onrequesterror?: ((id: RequestId | undefined, error: McpRuntimeError) => void) | undefined;

  /**
   * @param connection the parsed connection
   * @param transport its stdio part
   * @param auth its parsed auth record, or `null`
   * @param options limits and hooks
   * @throws {McpRuntimeError} `INPUT_INVALID` for a bad option
   */
  constructor(
    connection: McpSourceConnection,
    transport: StdioSourceTransport,
    auth: AuthRecord | null,
    options: TransportOptions,
  ) {
    this.#connection = connection;
    this.#transport = transport;
    this.#auth = auth;
    this.#options = options;
    this.#redactor = redactorFor(connection, auth);
    this.#errors = new StdioErrors(connection.id, this.#redactor);
    this.#maxBytes = limitOf("maxMessageBytes", options.maxMessageBytes);
    this.#terminate = terminateLimits(options);
    this.#tail = new StderrTail(DEFAULT_LIMITS.stderrTailBytes, this.#redactor);
    const { stderr = "tail" } = options;
    if (typeof stderr === "function") {
      this.#lines = new StderrLines(this.#redactor, (line) => this.#guarded(stderr, line));
    }
    this.#framer = new MessageFramer(this.#maxBytes, {
      onmessage: (message) => this.#guarded(this.onmessage, message),
      onskip: (line) => this.#skip(line),
      onoversize: (prefix) => this.#giveUpMessage(prefix),
      onoversizeend: (suffix) => this.#reportTrailingId(suffix),
    });
    this.#writes = new WriteQueue((bytes) => this.#process!.write(bytes), () => this.#breakPipe("stdin"));
  }

  get lost(): McpRuntimeError | undefined {
    return this.#lost;
  }

  get received(): number {
    return this.#received;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** How many lines of stdout were no messages. */
  get skippedLines(): number {
    return this.#skippedLines;
  }

  start(): Promise<void> {
    if (this.#state !== "new") return Promise.reject(this.#closedError("not-sent"));
    this.#state = "starting";
    return this.#started = this.#start();
  }

  send(message: JsonRpcMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#state !== "open") return Promise.reject(this.#unsendable("not-sent"));
    const text = jsonText(message);
    if (text === undefined) {
      return Promise.reject(this.#errors.tooLarge("a message", "no text can hold it", this.#maxBytes, "not-sent"));
    }
    if (text.length * 3 > this.#maxBytes) {
      const bytes = new TextEncoder().encode(text).length;
      if (bytes > this.#maxBytes) {
        return Promise.reject(this.#errors.tooLarge("a message", `${bytes} bytes`, this.#maxBytes, "not-sent"));
      }
    }
    return this.#writes.push(text, "method" in message && "id" in message ? message.id : undefined, options?.onsent);
  }

  cancel(id: RequestId): void {
    this.#writes.withdraw(id, () => this.#errors.withdrawn());
  }

  setProtocolVersion(_version: string): void {
    this.#ready = true;
  }

  ref(): void {
    this.#idle = false;
    this.#process?.ref();
  }

  unref(): void {
    this.#idle = true;
    this.#process?.unref();
  }

  hint(): string | undefined {
    const tail = this.#tail.text();
    const said = tail === "" ? undefined : `its stderr ends with: ${excerpt(tail.slice(-400), this.#redactor, 400)}`;
    const advice = this.#ready ? undefined : startupHint(this.#transport, this.#options.inheritEnv);
    return [advice, said].filter((part) => part !== undefined).join("; ") || undefined;
  }

  close(): Promise<void> {
    return this.#ending ?? this.#end(undefined);
  }

  async #start(): Promise<void> {
    const host = processHost();
    if (host === undefined) {
      this.#state = "ended";
      throw this.#errors.unsupported();
    }
    try {
      const request = spawnRequest(host, this.#transport, mcpAuthEnv(this.#auth), this.#options);
      this.#adopt(host, request, await this.#spawn(host, request));
    } catch (error) {
      if (this.#state === "starting") this.#state = "ended";
      throw spawnError(error, this.#connection, this.#transport, this.#redactor);
    }
    // The state may have changed to "ending" while the process was being started; then close() goes on from here.
    if ((this.#state as State) !== "starting") throw this.#closedError("not-sent");
    this.#state = "open";
  }

  #spawn(host: ProcessHost, request: SpawnRequest): Promise<ServerProcess> {
    return host.spawn(request, {
      onstdout: (chunk) => {
        this.#received += chunk.length;
        this.#framer.push(chunk);
      },
      onstderr: (chunk) => {
        this.#tail.push(chunk);
        this.#lines?.push(chunk);
      },
    });
  }

  #adopt(host: ProcessHost, request: SpawnRequest, process: ServerProcess): void {
    this.#process = process;
    this.#disown = ownChild(host, process, request.ownGroup);
    if (this.#idle) process.unref();
    process.exited.then((status) => this.#lose((tail) => this.#errors.exited(status, this.#phase, tail)));
    process.stdoutEnded.then(() => this.#breakPipe("stdout"));
  }

  /** Reports the end of the process, once everything that it wrote has been read. */
  async #lose(error: (stderrTail: string) => ProcessError): Promise<void> {
    if (this.#state !== "open" && this.#state !== "starting") return;
    await this.#drain();
    if (this.#state !== "open" && this.#state !== "starting") return;
    this.#framer.end();
    this.#lines?.end();
    await this.#end(error(this.#tail.text()));
  }

  async #drain(): Promise<void> {
    const { stdoutEnded, stderrEnded } = this.#process!;
    const ended = Promise.all([stdoutEnded, stderrEnded]);
    const started = performance.now();
    // A pipe may be held by a grandchild, then it has no end; what the server itself wrote lies in it already.
    while (!(await settledWithin(ended, DRAIN_MS))) {
      const silent = this.#received === this.#lastOutput;
      this.#lastOutput = this.#received;
      if (silent || performance.now() - started > MAX_DRAIN_MS) return;
    }
  }

  /** A pipe broke while the process seemed to live: usually it is ending, and its exit tells more. */
  async #breakPipe(pipe: "stdin" | "stdout"): Promise<void> {
    if (this.#state !== "open" && this.#state !== "starting") return;
    if (await settledWithin(this.#process!.exited, BROKEN_PIPE_MS)) return;
    const status = { code: null, signal: null };
    await this.#lose((tail) => this.#errors.lost(`closed its ${pipe}`, status, this.#phase, tail));
  }

  /** The one way in which this transport ends. */
  #end(lost: ProcessError | undefined): Promise<void> {
    if (this.#ending !== undefined) return this.#ending;
    const stdinBlocked = this.#writes.stalled;
    if (this.#state === "ended") return this.#ending = Promise.resolve(); // A failed start left nothing behind.
    this.#state = "ending";
    this.#lost = lost;
    clearTimeout(this.#awaitingTrailingId);
    this.#writes.fail((state) => this.#unsendable(state === "unwritten" ? "not-sent" : "unknown"));
    this.#ending = this.#terminateProcess(stdinBlocked);
    // Whoever waits for the end of a lost server is told at once; close() still waits for what it left behind.
    if (lost !== undefined) this.#finish();
    else this.#ending = this.#ending.then(() => this.#finish());
    return this.#ending;
  }

  async #terminateProcess(stdinBlocked: boolean): Promise<void> {
    await settledWithin(this.#started, Infinity);
    const process = this.#process;
    if (process === undefined) return;
    // The wait for a child keeps the program alive until the child is gone, even when the session was idle.
    process.ref();
    const { stdinMs, termMs, killMs } = this.#terminate;
    const patience = this.#ready ? stdinMs : Math.min(stdinMs, UNREADY_STDIN_MS);
    await endProcessTree(process, { stdinMs: patience, termMs, killMs }, stdinBlocked);
    await settledWithin(Promise.all([process.stdoutEnded, process.stderrEnded]), DRAIN_MS);
    this.#lines?.end();
    process.release();
    await this.#disown?.();
  }

  #finish(): void {
    if (this.#state === "ended") return;
    this.#state = "ended";
    this.#guarded(this.onclose, undefined);
  }

  #skip(line: string): void {
    if (line.trim() === "") return;
    this.#skippedLines++;
    if (this.onerror !== undefined) this.#guarded(this.onerror, this.#errors.skipped(line));
  }

  #giveUpMessage(prefix: string): void {
    const { kind, id } = readEnvelope(prefix);
    if (kind === "response" && id === undefined) {
      // The SDK's servers write the id last, so the end of the line tells it; but the line may have no end.
      this.#awaitingTrailingId = startTimer(() => this.#reportTrailingId(""), TRAILING_ID_MS);
    } else if (kind === "other") {
      const what = "a request or notification of the server";
      this.#guarded(this.onerror, this.#errors.tooLarge(what, "more", this.#maxBytes, "unknown"));
    } else {
      this.#guardedRequestError(id);
    }
  }

  #reportTrailingId(suffix: string): void {
    if (this.#awaitingTrailingId === undefined) return;
    clearTimeout(this.#awaitingTrailingId);
    this.#awaitingTrailingId = undefined;
    this.#guardedRequestError(readTrailingId(suffix));
  }

  #guardedRequestError(id: RequestId | undefined): void {
    const error = this.#errors.tooLarge("a message of the server", "more", this.#maxBytes, "answered");
    this.#guarded(() => this.onrequesterror?.(id, error), undefined);
  }

  /** Runs a callback that is not ours: what it throws must not end the reading. */
  #guarded<T>(callback: ((value: T) => void) | undefined, value: T): void {
    if (this.#state === "ended" && callback !== this.onclose) return;
    try {
      callback?.(value);
    } catch (error) {
      if (callback !== this.onerror) this.#guarded(this.onerror, error as Error);
    }
  }

  #unsendable(delivery: Delivery): McpRuntimeError {
    return this.#lost?.withDelivery(delivery) ?? this.#closedError(delivery);
  }

  #closedError(delivery: Delivery): McpRuntimeError {
    const what = this.#state === "new" ? "has not been started" : this.#state === "open" ? "is started" : "is closed";
    return this.#errors.closed(what, delivery);
  }

  get #phase(): StdioPhase {
    return !this.#ready ? "handshake" : this.#idle ? "idle" : "call";
  }
}

function terminateLimits({ closeTimeoutMs, terminate }: TransportOptions): TerminateLimits {
  const total = limitOf("closeTimeoutMs", closeTimeoutMs);
  return {
    stdinMs: limitOf("closeTimeoutMs", terminate?.stdinMs, total * 0.4),
    termMs: limitOf("closeTimeoutMs", terminate?.termMs, total * 0.4),
    killMs: limitOf("closeTimeoutMs", terminate?.killMs, total * 0.2),
  };
}
