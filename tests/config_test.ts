import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { connectionsFromMcpServers, type McpServersOptions, parseConnection } from "../mod.ts";

/** Stands in values that no problem may show. */
const SECRET = "s3cret-value";

/** Reads the servers and refuses a secret in what is said of them. */
function read(servers: unknown, variables?: McpServersOptions["variables"]) {
  const result = connectionsFromMcpServers({ mcpServers: servers }, variables && { variables });
  assert(!JSON.stringify(result.problems).includes(SECRET), JSON.stringify(result.problems));
  return result;
}

/** The transport of the only server. */
function transportOf(entry: unknown, variables?: McpServersOptions["variables"]) {
  const { connections, problems } = read({ only: entry }, variables);
  assertEquals(problems, []);
  return connections[0].transport;
}

/** What is said of the only server. */
function problemsOf(entry: unknown, variables?: McpServersOptions["variables"]) {
  const { connections, disabled, problems } = read({ only: entry }, variables);
  assertEquals([...connections, ...disabled], []);
  return problems;
}

Deno.test("connectionsFromMcpServers: command, args, env and cwd make a stdio server", () => {
  const { connections, disabled, problems } = read({
    files: { command: "npx", args: ["-y", "files"], env: { LEVEL: "warn" }, cwd: "/srv" },
  });
  assertEquals(connections as unknown, [{
    id: "files.default",
    provider: "files",
    account: "default",
    transport: { kind: "stdio", command: "npx", args: ["-y", "files"], env: { LEVEL: "warn" }, cwd: "/srv" },
  }]);
  assertEquals([disabled, problems], [[], []]);
});

Deno.test("connectionsFromMcpServers: url and headers make a server over HTTP", () => {
  assertEquals(transportOf({ url: "https://example.com/mcp", headers: { "X-Team": "a" } }), {
    kind: "http",
    url: "https://example.com/mcp",
    headers: { "X-Team": "a" },
  });
});

Deno.test("connectionsFromMcpServers: the connections are parsed and frozen, in the order of the file", () => {
  const { connections } = read({ b: { command: "x" }, a: { command: "y", env: {} } });
  assertEquals(connections.map(({ id }) => id), ["b.default", "a.default"]);
  for (const connection of connections) assert(parseConnection(connection) === connection);
});

Deno.test("connectionsFromMcpServers: the servers may be given without what holds them", () => {
  const { connections, problems } = connectionsFromMcpServers({ files: { command: "npx" } });
  assertEquals([connections.map(({ id }) => id), problems], [["files.default"], []]);
});

Deno.test("connectionsFromMcpServers: other settings beside mcpServers are not servers", () => {
  const { connections, problems } = connectionsFromMcpServers({
    theme: "dark",
    mcpServers: { files: { command: "x" } },
  });
  assertEquals([connections.length, problems], [1, []]);
});

Deno.test("connectionsFromMcpServers: nothing in it gives nothing", () => {
  const nothing = { connections: [], disabled: [], problems: [] };
  assertEquals(read({}), nothing);
  assertEquals(connectionsFromMcpServers({}), nothing);
});

for (const config of [null, undefined, SECRET, 5, [], [{ command: "x" }], () => {}, { mcpServers: [SECRET] }]) {
  Deno.test(`connectionsFromMcpServers: ${Deno.inspect(config)} is one problem of the whole`, () => {
    const { connections, disabled, problems } = connectionsFromMcpServers(config);
    assertEquals([connections, disabled], [[], []]);
    assertEquals(problems, [{ server: null, message: "the configuration must be an object with servers by name" }]);
  });
}

for (const type of ["http", "streamable-http", "streamableHttp", "streamable_http", "STREAMABLE-HTTP", "HTTP"]) {
  Deno.test(`connectionsFromMcpServers: type ${type} is HTTP`, () => {
    assertEquals(transportOf({ type, url: "https://example.com/mcp" })?.kind, "http");
  });
}

Deno.test("connectionsFromMcpServers: type stdio is stdio", () => {
  assertEquals(transportOf({ type: "stdio", command: "x" })?.kind, "stdio");
});

Deno.test("connectionsFromMcpServers: type sse is a problem that says so", () => {
  const [{ server, message }] = problemsOf({ type: "sse", url: `https://example.com/${SECRET}` });
  assertEquals(server, "only");
  assertStringIncludes(message, 'server "only": type "sse" is not supported');
});

/** A wrong entry and what the problem must say. */
const WRONG: [string, unknown, string][] = [
  ["text", SECRET, "must be an object"],
  ["null", null, "must be an object"],
  ["a list", [SECRET], "must be an object"],
  ["neither command nor url", { args: [SECRET] }, "has neither command nor url"],
  ["command and url", { command: "x", url: `https://${SECRET}/` }, "transport.url is not a field"],
  ["headers of a stdio server", { command: "x", headers: { a: SECRET } }, "transport.headers is not a field"],
  ["env of a server over HTTP", { url: "https://example.com", env: { A: SECRET } }, "transport.env is not a field"],
  ["http without url", { type: "http", command: SECRET }, "transport.url must be a string"],
  ["stdio without command", { type: "stdio", url: `https://${SECRET}/` }, "transport.command must be a string"],
  ["an unknown type", { type: SECRET, command: "x" }, 'type must be "stdio", "http" or "streamable-http"'],
  ["a type that every object has", { type: "constructor", command: "x" }, "type must be"],
  ["a type that is no text", { type: null, command: "x" }, "type must be"],
  ["disabled that is text", { command: "x", disabled: "true" }, "disabled must be a boolean"],
  ["a command that is a list", { command: ["x", SECRET] }, "transport.command must be a string"],
  ["args that are text", { command: "x", args: SECRET }, "transport.args must be an array"],
  ["an argument that is a number", { command: "x", args: [5] }, "transport.args.0 must be a string"],
  ["an env value that is a number", { command: "x", env: { PORT: 5 } }, "transport.env.PORT must be a string"],
  ["an env value that is a list", { command: "x", env: { A: [SECRET] } }, "transport.env.A must be a string"],
  ["a url that is none", { url: SECRET }, "transport.url must be an absolute http: or https: URL"],
  ["a header of the protocol", { url: "https://example.com", headers: { Host: SECRET } }, "headers.Host belongs to"],
  [
    "a whole header as its name",
    { url: "https://example.com", headers: { [`A: ${SECRET}`]: "" } },
    "headers.A… is not",
  ],
];
for (const [what, entry, message] of WRONG) {
  Deno.test(`connectionsFromMcpServers: ${what} is a problem that names the field and shows no value`, () => {
    const problems = problemsOf(entry);
    assertEquals(problems.map(({ server }) => server), ["only"]);
    assertStringIncludes(problems[0].message, 'server "only": ');
    assertStringIncludes(problems[0].message, message);
  });
}

Deno.test("connectionsFromMcpServers: a bad entry does not lose the others", () => {
  const { connections, disabled, problems } = read({
    a: { command: "x" },
    bad: { command: 5 },
    off: { command: "x", disabled: true },
    worse: null,
    unset: { url: "${NOWHERE}" },
    z: { url: "https://example.com/mcp" },
  });
  assertEquals(connections.map(({ id }) => id), ["a.default", "z.default"]);
  assertEquals(disabled.map(({ id }) => id), ["off.default"]);
  assertEquals(problems.map(({ server }) => server), ["bad", "worse", "unset"]);
});

Deno.test("connectionsFromMcpServers: a disabled entry is checked and kept apart", () => {
  const { connections, disabled } = read({ a: { command: "x", disabled: true }, b: { command: "x", disabled: false } });
  assertEquals(disabled.map(({ id, enabled }) => [id, enabled]), [["a.default", false]]);
  assertEquals(connections.map(({ id, enabled }) => [id, enabled]), [["b.default", undefined]]);
  assertStringIncludes(problemsOf({ disabled: true })[0].message, "has neither command nor url");
});

Deno.test("connectionsFromMcpServers: unknown fields are kept in metadata as they are", () => {
  const { connections } = read({ a: { command: "x", autoApprove: ["t"], note: "${HOME}", enabled: false } });
  assertEquals(connections[0].metadata, { autoApprove: ["t"], note: "${HOME}", enabled: false });
  assertEquals(read({ a: { type: "stdio", command: "x", disabled: false } }).connections[0].metadata, undefined);
});

const NAMES: [string, string][] = [
  ["a.b.c", "a_b_c.default"],
  ["My Server", "My_Server.default"],
  ["-x-y-", "_x-y-.default"],
  ["@scope/name", "_scope_name.default"],
  ["ähm", "_hm.default"],
  ["🙂", "_.default"],
  ["9", "9.default"],
];
for (const [name, id] of NAMES) {
  Deno.test(`connectionsFromMcpServers: the id of ${JSON.stringify(name)} is ${id}`, () => {
    const [connection] = read({ [name]: { command: "x" } }).connections;
    assertEquals([connection.id, connection.provider, connection.account], [id, id.split(".")[0], "default"]);
  });
}

Deno.test("connectionsFromMcpServers: an empty name is a problem", () => {
  const { connections, problems } = read({ "": { command: "x" } });
  assertEquals([connections, problems[0].server], [[], ""]);
  assertStringIncludes(problems[0].message, "connection id must be");
});

Deno.test("connectionsFromMcpServers: two names of one id are a problem of the second, also when the first is bad", () => {
  for (const first of [{ command: "x" }, { command: "x", disabled: true }, null]) {
    const { connections, problems } = read({ "a.b": first, "a_b": { command: SECRET }, "a b": { command: SECRET } });
    assert(connections.every(({ transport }) => transport?.kind === "stdio" && transport.command === "x"));
    assertEquals(
      problems.slice(-2),
      ["a_b", "a b"].map((server) => ({
        server,
        message: `server "${server}": comes to the same id as server "a.b": a_b.default`,
      })),
    );
  }
});

Deno.test("connectionsFromMcpServers: __proto__ as a name, a variable and a field is data", () => {
  const file = `{ "mcpServers": {
    "__proto__": { "command": "x", "env": { "__proto__": "v" }, "__proto__": { "disabled": true } },
    "constructor": { "command": "\${toString:-none}", "args": ["\${constructor:-none}", "\${__proto__:-none}"] }
  } }`;
  const { connections, disabled, problems } = connectionsFromMcpServers(JSON.parse(file));
  assertEquals([disabled, problems], [[], []]);
  assertEquals(connections.map(({ id }) => id), ["__proto__.default", "constructor.default"]);
  assertEquals(JSON.stringify(connections[0].transport), '{"kind":"stdio","command":"x","env":{"__proto__":"v"}}');
  assertEquals(JSON.stringify(connections[0].metadata), '{"__proto__":{"disabled":true}}');
  assertEquals(connections[1].transport, { kind: "stdio", command: "none", args: ["none", "none"] });
});

Deno.test("connectionsFromMcpServers: variables are filled in wherever a transport has text", () => {
  const variables = { BIN: "npx", DIR: "/srv", TOKEN: SECRET, HOST: "example.com" };
  assertEquals(
    transportOf(
      { command: "${BIN}", args: ["${DIR}/a", "${env:DIR}"], env: { T: "x${TOKEN}y${TOKEN}" }, cwd: "${DIR}" },
      variables,
    ),
    { kind: "stdio", command: "npx", args: ["/srv/a", "/srv"], env: { T: `x${SECRET}y${SECRET}` }, cwd: "/srv" },
  );
  assertEquals(
    transportOf({ url: "https://${HOST}/mcp", headers: { Authorization: "Bearer ${env:TOKEN}" } }, variables),
    { kind: "http", url: "https://example.com/mcp", headers: { Authorization: `Bearer ${SECRET}` } },
  );
});

const TEXTS: [string, string][] = [
  ["${SET}", "value"],
  ["${SET:-default}", "value"],
  ["${env:SET:-default}", "value"],
  ["${EMPTY}", ""],
  ["${EMPTY:-default}", "default"],
  ["${UNSET:-default}", "default"],
  ["${env:UNSET:-default}", "default"],
  ["${UNSET:-}", ""],
  ["${UNSET:-a:-b $x}", "a:-b $x"],
  ["${UNDEFINED:-default}", "default"],
  ["${NESTED}", "${SET}"],
  ["${DOLLARS}", "$& $1 $$"],
  ["$SET {SET} $ {SET} %SET% $", "$SET {SET} $ {SET} %SET% $"],
  ["${SET}${SET:-x}}", "valuevalue}"],
];
for (const [text, filled] of TEXTS) {
  Deno.test(`connectionsFromMcpServers: ${text} becomes ${JSON.stringify(filled)}`, () => {
    const variables = { SET: "value", EMPTY: "", NESTED: "${SET}", DOLLARS: "$& $1 $$", UNDEFINED: undefined };
    assertEquals(transportOf({ command: "x", args: [text] }, variables), {
      kind: "stdio",
      command: "x",
      args: [filled],
    });
  });
}

Deno.test("connectionsFromMcpServers: each variable that is not set is a problem naming it and its field", () => {
  const problems = problemsOf(
    { command: "${BIN}", args: ["${A}${env:B}", SECRET], env: { T: "${A}", U: `${SECRET}\${SET}` } },
    { SET: SECRET, B: undefined },
  );
  assertEquals(problems.map(({ message, variable }) => [message, variable]), [
    ['server "only": command: the variable BIN is not set', "BIN"],
    ['server "only": args.0: the variable A is not set', "A"],
    ['server "only": args.0: the variable B is not set', "B"],
    ['server "only": env.T: the variable A is not set', "A"],
  ]);
});

Deno.test("connectionsFromMcpServers: nothing is read from this program's environment", () => {
  Deno.env.set("CONFIG_TEST_VARIABLE", SECRET);
  try {
    assertEquals(problemsOf({ command: "${CONFIG_TEST_VARIABLE}" })[0].variable, "CONFIG_TEST_VARIABLE");
  } finally {
    Deno.env.delete("CONFIG_TEST_VARIABLE");
  }
});

const UNKNOWN_FORMS = ["${input:s3cret-value}", "${", "a ${SET", "${}", "${A-B}", "${1}", "${SET:=x}", "${A:-${SET}}"];
for (const text of UNKNOWN_FORMS) {
  Deno.test(`connectionsFromMcpServers: ${text} is not passed on but a problem`, () => {
    const [problem] = problemsOf({ command: "x", args: [text] }, { SET: "value", A: "value" });
    assertEquals([problem.server, problem.variable], ["only", undefined]);
    assertStringIncludes(problem.message, 'server "only": args.0: what follows "${" is not understood');
  });
}

Deno.test("connectionsFromMcpServers: what a variable holds is checked like the rest, and not shown", () => {
  const [{ message }] = problemsOf({ url: "${U}" }, { U: `ftp://${SECRET}` });
  assertStringIncludes(message, "transport.url must be an absolute http: or https: URL");
});

Deno.test("connectionsFromMcpServers: a long name is shown cut in the message and whole beside it", () => {
  const name = "x".repeat(10_000);
  const [problem] = read({ [name]: null }).problems;
  assertEquals(problem.server, name);
  assert(problem.message.length < 200);
});
