/**
 * Wrong input through each public door: refused with its code, naming the field, before anything is opened or called.
 * What a connection and an auth record may hold is in connection_test.ts and auth_test.ts, the limits of constructors in
 * limits_test.ts, the entries of a configuration in config_test.ts.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  type AuthRecord,
  type CallToolOptions,
  closeOnSignals,
  connectionRuntimeFingerprint,
  connectionsFromMcpServers,
  createTransport,
  McpRuntimeError,
  McpRuntimePool,
  type McpSourceConnection,
  openMcpSession,
  parseAuth,
  parseConnection,
  PersistentMcpSession,
  PersistentSessionFactory,
  type SessionFactory,
} from "../mod.ts";
import { oauthCredentials, type OAuthProviderLike } from "../runtime/oauth.ts";
import { openTelemetry } from "../runtime/telemetry.ts";
import { FakeMcpServer } from "../runtime/testing.ts";

/** Stands wherever a wrong value is text, and in what is right beside it; no refusal may show it. */
const SECRET = "s3cret-value";

const connection = {
  id: "docs.public",
  provider: "docs",
  account: "public",
  transport: { kind: "http" as const, url: `https://user:${SECRET}@example.com/mcp?key=${SECRET}` },
};
const auth: AuthRecord = { connectionId: connection.id, scheme: "bearer", payload: { token: SECRET } };

/** A wrong value, and how the message of its refusal begins. */
type Row = [value: unknown, message: string];

const rows = (message: string, ...values: unknown[]): Row[] => values.map((value) => [value, message]);
/** Objects with one wrong option. */
const option = (name: string, must: string, ...values: unknown[]): Row[] =>
  values.map((value) => [{ [name]: value }, `${name} must be ${must}`]);

const NO_OPTIONS = rows("options must be an object", null, 5, SECRET, [], () => {});
const NO_FUNCTIONS = [null, 5, SECRET, {}, []];
/** A controller in the place of its signal is the likely mistake. */
const NO_SIGNALS = [null, 5, SECRET, {}, new AbortController(), new EventTarget(), () => {}];
const NO_LIMITS = [null, NaN, -1, -Infinity, "5", 5n, true, {}, []];
const LIMIT = "a number of at least 0";

const CALL: Row[] = [
  ...NO_OPTIONS,
  ...option("signal", "an AbortSignal", ...NO_SIGNALS),
  ...option("onProgress", "a function", ...NO_FUNCTIONS),
  ...option("timeoutMs", LIMIT, ...NO_LIMITS),
  ...option("maxTotalTimeoutMs", LIMIT, ...NO_LIMITS),
  ...option("queueTimeoutMs", LIMIT, ...NO_LIMITS),
  ...rows("options.meta must be an object", { meta: null }, { meta: SECRET }, { meta: [] }),
  [{ meta: { a: () => SECRET } }, "options.meta.a is a function"],
];

const POOL_CALL: Row[] = [
  ...CALL,
  ...option("scope", "a string", null, 5, {}, ["a"]),
  ...option("retry", '"if-unsent", "never" or "idempotent"', null, "always", "", true, {}),
  ...option("expectGeneration", "an integer", null, NaN, 1.5, "1", Infinity, {}),
];

const GET_SESSION: Row[] = [
  ...NO_OPTIONS,
  ...option("scope", "a string", null, 5, {}),
  ...option("signal", "an AbortSignal", ...NO_SIGNALS),
  ...option("queueTimeoutMs", LIMIT, ...NO_LIMITS),
];

const cycle: Record<string, unknown> = {};
cycle.self = cycle;
const fail = () => {
  throw new Error(SECRET);
};
const throwing = (name: string) => Object.defineProperty({}, name, { enumerable: true, get: fail });

/** Tool and payload. */
const TOOL_AND_PAYLOAD: Row[] = [
  ...[undefined, null, 5, "", {}].map((tool): Row => [[tool, {}], "toolName must be a non-empty string"]),
  ...[undefined, null, 5, SECRET, [], fail, new Date(0), new Map(), 5n, true, Symbol(SECRET)]
    .map((payload): Row => [["echo", payload], "payload must be an object"]),
  ...([
    [{ a: [5n] }, "payload.a[0] is a bigint"],
    [{ a: Symbol(SECRET) }, "payload.a is a symbol"],
    [{ a: NaN }, "payload.a is NaN"],
    [{ a: fail }, "payload.a is a function"],
    [{ a: { toJSON: fail } }, "payload.a is a Object, not a plain object"],
    [{ toJSON: fail }, "payload is a Object, not a plain object"],
    [cycle, "payload.self contains itself"],
    [throwing("toJSON"), "payload cannot be read"],
    [throwing("a"), "payload cannot be read"],
    [JSON.parse('{"a":'.repeat(600) + "1" + "}".repeat(600)), "payload.a.a.a"],
  ] satisfies Row[]).map(([payload, message]): Row => [["echo", payload], message]),
];

const withTransport = (transport: Record<string, unknown>) => ({ ...connection, transport });
const CONNECTION: Row[] = [
  ...rows("connection must be an object", undefined, null, 5, connection.id, [connection], fail),
  [{ ...connection, id: 5 }, "connection: id must be a string"],
  [{ ...connection, id: "" }, "connection id must be"],
  ...rows(
    'connection "docs.public": transport.url must be an absolute http: or https: URL',
    withTransport({ kind: "http", url: `ftp://user:${SECRET}@example.com` }),
    withTransport({ kind: "http", url: `javascript:alert("${SECRET}")` }),
    withTransport({ kind: "http", url: "" }),
  ),
  [
    withTransport({ kind: "http", url: "https://a", headers: { "x-key": `${SECRET}\n` } }),
    'connection "docs.public": transport.headers.x-key must be a header value',
  ],
  [withTransport({ kind: "stdio", command: "" }), 'connection "docs.public": transport.command must not be empty'],
  [
    withTransport({ kind: "stdio", command: "x", env: { KEY: `${SECRET}\0` } }),
    'connection "docs.public": transport.env.KEY must not contain a NUL',
  ],
];

const AUTH: Row[] = [
  ...rows("auth record: must be an object", undefined, 5, SECRET, [], fail),
  [{ connectionId: "docs.public", payload: { token: SECRET } }, "auth record: scheme must be a string"],
  ...rows("auth record: payload must be an object", { ...auth, payload: SECRET }, { ...auth, payload: null }),
  [{ ...auth, payload: throwing("token") }, "auth record: payload cannot be read"],
  [{ ...auth, payload: { token: `${SECRET}\r\n` } }, "auth record: payload.token cannot be sent"],
];

const OPENING: Row[] = [
  ...NO_OPTIONS,
  ...option("clientInfo", "an object with name and version", null, SECRET, {}, { name: "a" }, {
    name: "a",
    version: 1,
  }),
  ...option("createTransport", "a function", ...NO_FUNCTIONS),
  ...option("fetch", "a function", ...NO_FUNCTIONS),
  ...option("credentials", "a function or a credentials source", null, SECRET, {}, { authorization: SECRET }),
  ...option("inheritEnv", '"default", "all", "none" or an array of names', null, SECRET, "", {}, [5], true),
  ...option("stderr", '"tail", "inherit" or a function', null, SECRET, "pipe", {}),
  ...option("sessionUnknownTexts", "an array of strings and regular expressions", null, SECRET, [5], {}),
  ...option("terminate", "an object", null, 5, SECRET),
  [{ terminate: { stdinMs: NaN } }, "terminate.stdinMs must be a number of at least 0: NaN"],
  [{ terminate: { termMs: -1 } }, "terminate.termMs must be a number of at least 0: -1"],
  [{ terminate: { killMs: SECRET } }, "terminate.killMs must be a number of at least 0: string"],
  ...["connectTimeoutMs", "timeoutMs", "maxTotalTimeoutMs", "closeTimeoutMs", "credentialsTimeoutMs", "maxMessageBytes"]
    .flatMap((name) => option(name, LIMIT, null, NaN, -1, SECRET)),
];

const OBSERVING: Row[] = [
  ...option("onEvent", "a function", ...NO_FUNCTIONS),
  ...option("telemetry", "an object with opening and call", null, SECRET, {}, fail, { opening: fail }),
];

/** One public door. */
interface Door {
  /** Hands a wrong value in. */
  knock(value: unknown): unknown;
  /** How often something was opened or called behind it. */
  touched?(): number;
  leave?(): Promise<void>;
}

/** What is wrong with a refusal, `undefined` when it is as it has to be. */
async function problemOf(knock: () => unknown, how: "throws" | "rejects", code: string, message: string) {
  let seen: "throws" | "rejects" = "throws";
  try {
    const outcome = knock();
    seen = "rejects";
    await outcome;
    return "it is accepted";
  } catch (error) {
    if (!(error instanceof McpRuntimeError)) return Deno.inspect(error);
    if (seen !== how) return `it ${seen}`;
    if (error.code !== code || error.delivery !== "not-sent") return `it is ${error.code}, ${error.delivery}`;
    if (!error.message.startsWith(message)) return `it says: ${error.message}`;
    const shown = `${error.stack} ${Deno.inspect(error)} ${JSON.stringify(error)}`;
    return shown.includes(SECRET) ? "it shows the secret" : undefined;
  }
}

/** Every wrong value is refused, in the way that the door is documented to refuse, and nothing is done. */
function refuses(
  name: string,
  how: "throws" | "rejects",
  code: string,
  wrong: Row[],
  make: () => Door | Promise<Door>,
): void {
  Deno.test(`${name} ${how} ${code} before any I/O, naming the field`, async () => {
    const door = await make();
    const problems: string[] = [];
    try {
      for (const [value, message] of wrong) {
        const problem = await problemOf(() => door.knock(value), how, code, message);
        if (problem) problems.push(`${Deno.inspect(value, { compact: true })} (${message}): ${problem}`);
      }
      assertEquals([problems, door.touched?.() ?? 0], [[], 0]);
    } finally {
      await door.leave?.();
    }
  });
}

// Wrong on purpose: the types of the doors refuse these values already.
const asConnection = (value: unknown) => value as McpSourceConnection;
const asAuth = (value: unknown) => value as AuthRecord | null;
const asOptions = (value: unknown) => value as CallToolOptions;
const asCall = (value: unknown) => value as [toolName: string, payload: Record<string, unknown>];

for (const live of [false, true]) {
  /** Nothing may be opened, called or counted as a call beyond what was there. */
  const pool = (knock: (pool: McpRuntimePool, value: unknown) => unknown) => async (): Promise<Door> => {
    const server = new FakeMcpServer({ tools: { echo: (args) => args } });
    const pool = new McpRuntimePool(server.sessionFactory());
    if (live) await pool.getSession(connection, auth);
    const opened = server.opened;
    return {
      knock: (value) => knock(pool, value),
      touched: () => server.opened - opened + server.calls.length + pool.stats().calls.failed,
      leave: () => pool.closeAll(),
    };
  };
  const call = `McpRuntimePool.callTool, ${live ? "a session is live" : "none is live"}:`;
  refuses(
    `${call} a wrong connection`,
    "rejects",
    "CONNECTION_INVALID",
    CONNECTION,
    pool((pool, value) => pool.callTool(asConnection(value), auth, "echo", {})),
  );
  refuses(
    `${call} a wrong auth record`,
    "rejects",
    "CONNECTION_INVALID",
    AUTH,
    pool((pool, value) => pool.callTool(connection, asAuth(value), "echo", {})),
  );
  refuses(
    `${call} a wrong tool or payload`,
    "rejects",
    "INPUT_INVALID",
    TOOL_AND_PAYLOAD,
    pool((pool, value) => pool.callTool(connection, auth, ...asCall(value))),
  );
  refuses(
    `${call} a wrong option`,
    "rejects",
    "INPUT_INVALID",
    POOL_CALL,
    pool((pool, value) => pool.callTool(connection, auth, "echo", {}, asOptions(value))),
  );
  const get = call.replace("callTool", "getSession");
  refuses(
    `${get} a wrong connection`,
    "rejects",
    "CONNECTION_INVALID",
    CONNECTION,
    pool((pool, value) => pool.getSession(asConnection(value), auth)),
  );
  refuses(
    `${get} a wrong auth record`,
    "rejects",
    "CONNECTION_INVALID",
    AUTH,
    pool((pool, value) => pool.getSession(connection, asAuth(value))),
  );
  refuses(
    `${get} a wrong option`,
    "rejects",
    "INPUT_INVALID",
    GET_SESSION,
    pool((pool, value) => pool.getSession(connection, auth, asOptions(value))),
  );
  refuses(
    `${call.replace("callTool", "closeConnection")} a wrong id`,
    "rejects",
    "INPUT_INVALID",
    rows("connectionId must be a non-empty string", undefined, null, 5, "", {}, [connection.id], connection),
    pool((pool, value) => pool.closeConnection(value as string)),
  );
}

refuses("McpRuntimePool: a wrong option", "throws", "INPUT_INVALID", [
  ...NO_OPTIONS,
  ...OBSERVING,
  ...option("openBackoff", "an object or false", null, true, 5, SECRET, []),
  [{ openBackoff: { initialMs: NaN } }, "backoffInitialMs must be a number of at least 0: NaN"],
], () => ({ knock: (value) => new McpRuntimePool(undefined, value as { maxSessions: number }) }));

refuses(
  "McpRuntimePool: a wrong session factory",
  "throws",
  "INPUT_INVALID",
  rows("sessionFactory must be a function", null, 5, SECRET, {}, [], new FakeMcpServer()),
  () => ({ knock: (value) => new McpRuntimePool(value as SessionFactory) }),
);

/** Sessions over a callback and over our own client; neither may be called. */
const SESSIONS: Record<string, (knock: (session: PersistentMcpSession, value: unknown) => unknown) => Promise<Door>> = {
  "over a callback": (knock) => {
    let called = 0;
    const session = new PersistentMcpSession({ connection, auth, callCallback: () => (called++, {}) });
    return Promise.resolve({
      knock: (value) => knock(session, value),
      touched: () => called,
      leave: () => session.close(),
    });
  },
  "of a factory": async (knock) => {
    const server = new FakeMcpServer({ tools: { echo: (args) => args } });
    const session = await server.sessionFactory().create(connection, auth);
    return {
      knock: (value) => knock(session, value),
      touched: () => server.calls.length,
      leave: () => session.close(),
    };
  },
};
for (const [kind, session] of Object.entries(SESSIONS)) {
  const call = `PersistentMcpSession.callTool, ${kind}:`;
  refuses(
    `${call} a wrong option`,
    "rejects",
    "INPUT_INVALID",
    CALL,
    () => session((session, value) => session.callTool("echo", {}, asOptions(value))),
  );
  refuses(
    `${call} a wrong tool or payload`,
    "rejects",
    "INPUT_INVALID",
    TOOL_AND_PAYLOAD,
    () => session((session, value) => session.callTool(...asCall(value))),
  );
}

refuses("PersistentMcpSession: a wrong part", "throws", "INPUT_INVALID", [
  ...rows(
    "init.client must be an object with callTool and close",
    { client: null },
    { client: {} },
    { client: fail },
    { client: { callTool: fail } },
  ),
  ...rows("init.callCallback must be a function", { callCallback: null }, { callCallback: SECRET }),
  ...rows("init.closeCallback must be a function", { closeCallback: null }, { closeCallback: {} }),
], () => ({ knock: (value) => new PersistentMcpSession({ connection, auth, ...value as object }) }));

refuses(
  "PersistentMcpSession: a wrong init",
  "throws",
  "INPUT_INVALID",
  rows("init must be an object", undefined, null, 5, SECRET, [connection, auth]),
  () => ({ knock: (value) => new PersistentMcpSession(value as { connection: McpSourceConnection; auth: null }) }),
);

refuses("PersistentSessionFactory: a wrong option", "throws", "INPUT_INVALID", [...OPENING, ...OBSERVING], () => ({
  knock: (value) => new PersistentSessionFactory(value as { timeoutMs: number }),
}));

/** What is made of this counts; none may be. */
function opening(knock: (own: { createTransport: () => never }, value: unknown) => unknown): Door {
  let made = 0;
  const createTransport = () => {
    made++;
    throw new Error("a transport was made");
  };
  return { knock: (value) => knock({ createTransport }, value), touched: () => made };
}

const create = "PersistentSessionFactory.create:";
refuses(
  `${create} a wrong connection`,
  "rejects",
  "CONNECTION_INVALID",
  CONNECTION,
  () => opening((own, value) => new PersistentSessionFactory(own).create(asConnection(value), auth)),
);
refuses(
  `${create} a wrong auth record`,
  "rejects",
  "CONNECTION_INVALID",
  AUTH,
  () => opening((own, value) => new PersistentSessionFactory(own).create(connection, asAuth(value))),
);
refuses(
  `${create} a wrong context`,
  "rejects",
  "INPUT_INVALID",
  [
    ...rows("context must be an object", null, 5, SECRET, []),
    ...rows("context.scope must be a string", { scope: null }, { scope: 5 }, { scope: {} }),
    ...NO_SIGNALS.map((signal): Row => [{ signal }, "context.signal must be an AbortSignal"]),
  ],
  () => opening((own, value) => new PersistentSessionFactory(own).create(connection, auth, value as { scope: string })),
);

refuses(
  "openMcpSession: a wrong connection",
  "rejects",
  "CONNECTION_INVALID",
  CONNECTION,
  () => opening((own, value) => openMcpSession(asConnection(value), auth, own)),
);
refuses(
  "openMcpSession: a wrong auth record",
  "rejects",
  "CONNECTION_INVALID",
  AUTH,
  () => opening((own, value) => openMcpSession(connection, asAuth(value), own)),
);
refuses("openMcpSession: wrong options", "rejects", "INPUT_INVALID", NO_OPTIONS, () => ({
  knock: (value) => openMcpSession(connection, auth, asOptions(value)),
}));
refuses("openMcpSession: a wrong option", "rejects", "INPUT_INVALID", [
  ...OPENING.slice(NO_OPTIONS.length),
  ...option("signal", "an AbortSignal", ...NO_SIGNALS),
  ...option("scope", "a string", null, 5),
], () => opening((own, value) => openMcpSession(connection, auth, { ...own, ...value as object })));

const stdio = { ...connection, transport: { kind: "stdio" as const, command: "none", env: { KEY: SECRET } } };
for (const [kind, configured] of Object.entries({ http: connection, stdio })) {
  refuses(`createTransport, ${kind}: a wrong option`, "throws", "INPUT_INVALID", OPENING, () => ({
    knock: (value) => createTransport(configured, auth, value as { scope: string }),
  }));
}
refuses("createTransport: a wrong connection", "throws", "CONNECTION_INVALID", CONNECTION, () => ({
  knock: (value) => createTransport(asConnection(value), auth),
}));
refuses("createTransport: a wrong auth record", "throws", "CONNECTION_INVALID", AUTH, () => ({
  knock: (value) => createTransport(connection, asAuth(value)),
}));
refuses(
  "createTransport: a missing transport",
  "throws",
  "NO_TRANSPORT",
  rows(
    'connection "docs.public" has no transport',
    { ...connection, transport: null },
    { ...connection, transport: undefined },
  ),
  () => ({ knock: (value) => createTransport(asConnection(value), auth) }),
);

refuses("parseConnection: a wrong connection", "throws", "CONNECTION_INVALID", CONNECTION, () => ({
  knock: parseConnection,
}));
refuses(
  "parseAuth: a wrong auth record",
  "throws",
  "CONNECTION_INVALID",
  [...AUTH, ...rows("auth record: must be an object", null)],
  () => ({ knock: parseAuth }),
);
refuses("connectionRuntimeFingerprint: a wrong connection", "throws", "CONNECTION_INVALID", CONNECTION, () => ({
  knock: (value) => connectionRuntimeFingerprint(asConnection(value)),
}));
refuses("connectionRuntimeFingerprint: a wrong auth record", "throws", "CONNECTION_INVALID", AUTH.slice(1), () => ({
  knock: (value) => connectionRuntimeFingerprint(connection, asAuth(value)),
}));

refuses("connectionsFromMcpServers: a wrong option", "throws", "INPUT_INVALID", [
  ...NO_OPTIONS,
  ...option("variables", "an object", null, 5, SECRET, []),
], () => ({ knock: (value) => connectionsFromMcpServers({}, value as { variables: Record<string, string> }) }));

Deno.test("connectionsFromMcpServers: a variable that is no text is a problem that names it", () => {
  for (const value of [5, null, {}, [SECRET]]) {
    const servers = { only: { command: "x", args: ["${A:-b}"] } };
    const { connections, problems } = connectionsFromMcpServers(servers, {
      variables: { A: value as unknown as string },
    });
    const message = 'server "only": args.0: the variable A is not a string';
    assertEquals([connections, problems], [[], [{ server: "only", message, variable: "A" }]]);
  }
});

refuses("openTelemetry: a wrong option", "throws", "INPUT_INVALID", [
  ...NO_OPTIONS,
  ...option("recordArguments", "a boolean", null, "false", 0, {}),
  ...option("recordResults", "a boolean", null, "false", 1),
], () => ({ knock: (value) => openTelemetry(value as { recordArguments: boolean }) }));

refuses("FakeMcpServer: a wrong option", "throws", "INPUT_INVALID", [
  ...NO_OPTIONS,
  ...option("tools", "an object", null, 5, SECRET, []),
  ...option("openDelayMs", LIMIT, null, NaN, -1, "5"),
  ...option("protocolVersion", "a string", null, 5),
  [{ tools: { echo: { text: SECRET } } }, "tools.echo must be a function: object"],
], () => ({ knock: (value) => new FakeMcpServer(value as { openDelayMs: number }) }));

refuses(
  "oauthCredentials: a wrong provider",
  "throws",
  "INPUT_INVALID",
  rows("provider must be an object with tokens", undefined, null, SECRET, {}, fail),
  () => ({ knock: (value) => oauthCredentials(value as OAuthProviderLike) }),
);
refuses("oauthCredentials: a wrong option", "throws", "INPUT_INVALID", [
  ...NO_OPTIONS,
  ...option("serverUrl", "a string", null, new URL("https://example.com")),
  ...option("fetch", "a function", ...NO_FUNCTIONS),
], () => ({ knock: (value) => oauthCredentials({ tokens: fail } as unknown as OAuthProviderLike, value as object) }));

refuses(
  "closeOnSignals: a wrong pool",
  "throws",
  "INPUT_INVALID",
  rows("pool must be an object with closeAll and abort", undefined, null, SECRET, {}, McpRuntimePool),
  () => ({ knock: (value) => closeOnSignals(value as McpRuntimePool) }),
);
refuses("closeOnSignals: a wrong option", "throws", "INPUT_INVALID", [
  ...NO_OPTIONS,
  ...option("signals", "an array of names", null, "SIGINT", [2]),
  ...option("exit", "a boolean", null, 0),
], () => ({ knock: (value) => closeOnSignals(new McpRuntimePool(), value as object) }));

Deno.test("createTransport: user info with odd percent signs or beyond Latin-1 is taken all the same", () => {
  const url = `https://%zz:${SECRET}é€@example.com`;
  assertEquals(createTransport({ ...connection, transport: { kind: "http", url } }, null).sessionId, undefined);
});

Deno.test("signal: one of another realm or a polyfill is known by its shape", async () => {
  const signal = { aborted: true, reason: "left", addEventListener: () => {}, removeEventListener: () => {} };
  await using session = new PersistentMcpSession({ connection, auth, callCallback: () => ({}) });
  const outcome = await session.callTool("echo", {}, { signal: signal as unknown as AbortSignal }).catch((e) => e);
  assertEquals(outcome, "left");
});

Deno.test("options: what is right is accepted, so that the refusals are of what is wrong", async () => {
  const server = new FakeMcpServer({ tools: { echo: (args) => args }, openDelayMs: 0, protocolVersion: "2025-11-25" });
  const factory = new PersistentSessionFactory({
    createTransport: server.createTransport,
    clientInfo: { name: "a", version: "1" },
    inheritEnv: ["A"],
    stderr: () => {},
    terminate: { stdinMs: 0, termMs: 1, killMs: Infinity },
    sessionUnknownTexts: ["gone", /gone/],
    fetch: () => Promise.reject(new Error("nothing is fetched")),
    credentials: () => ({}),
    onEvent: () => {},
    telemetry: openTelemetry({ recordArguments: false, recordResults: true }),
  });
  await using pool = new McpRuntimePool(factory, { openBackoff: false, onEvent: () => {} });
  const { output } = await pool.callTool(connection, auth, "echo", { a: [{ b: null, c: undefined }] }, {
    signal: new AbortController().signal,
    timeoutMs: 0,
    maxTotalTimeoutMs: Infinity,
    queueTimeoutMs: 5_000,
    onProgress: () => {},
    meta: { a: 1 },
    scope: "",
    retry: "never",
    expectGeneration: 1,
  });
  assertEquals(output, { a: [{ b: null }] });
});

Deno.test("onProgress: a callback's report that comes after its call has settled is nobody's, and a throw stays here", async () => {
  let report!: () => void;
  const seen: number[] = [];
  await using session = new PersistentMcpSession({
    connection,
    auth,
    callCallback: (_tool, _payload, options) => {
      report = () => options!.onProgress!({ progress: seen.length });
      report();
      return {};
    },
  });
  const onProgress = ({ progress }: { progress: number }) => {
    seen.push(progress);
    throw new Error("the listener's own");
  };
  assertEquals((await session.callTool("echo", {}, { onProgress })).outcome, "ok");
  report();
  assertEquals(seen, [0]);
});

Deno.test("problemOf: sees a refusal that is none, one of another kind, and one that shows a secret", async () => {
  const error = (message: string, code: "INPUT_INVALID" | "OPEN_FAILED" = "INPUT_INVALID") => () => {
    throw new McpRuntimeError(message, { code });
  };
  const look = (knock: () => unknown) => problemOf(knock, "throws", "INPUT_INVALID", "field");
  assertEquals(await look(error("field is wrong")), undefined);
  assertEquals(await look(() => 1), "it is accepted");
  assertEquals(await look(() => Promise.reject(new McpRuntimeError("field", { code: "INPUT_INVALID" }))), "it rejects");
  assertEquals(await look(error("field", "OPEN_FAILED")), "it is OPEN_FAILED, not-sent");
  assertEquals(await look(error("another field")), "it says: another field");
  assertEquals(await look(error(`field ${SECRET}`)), "it shows the secret");
  assertStringIncludes(String(await look(() => null!["x" as never])), "TypeError");
  assert(CALL.length > 40);
});
