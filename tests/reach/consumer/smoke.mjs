// Uses the installed package as a program would, on whatever runs this file; prints one line for each check. Arguments:
// the stateful stdio server, and server-everything's file.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import process from "node:process";
import { inspect } from "node:util";
import { startHttpServer } from "./http_server.mjs";
import {
  connectionsFromMcpServers,
  createTransport,
  McpRuntimeError,
  McpRuntimePool,
  openMcpSession,
  PersistentSessionFactory,
} from "@wf/sources-mcp";
import { FakeMcpServer } from "@wf/sources-mcp/testing";

const [statefulServer, everything] = process.argv.slice(2);
const manifest = JSON.parse(await readFile(new URL("./node_modules/@wf/sources-mcp/package.json", import.meta.url)));
const entryPoints = Object.keys(manifest.exports).filter((entry) => !entry.endsWith(".json"));
const load = (entry) => import(manifest.name + entry.slice(1));

const stdio = (name, args, more = {}) => ({
  id: `${name}.local`,
  provider: name,
  account: "local",
  transport: { kind: "stdio", command: process.execPath, args, ...more },
});
const http = (name, url) => ({
  id: `${name}.local`,
  provider: name,
  account: "local",
  transport: { kind: "http", url },
});
const stateful = (...args) => stdio("stateful", [statefulServer, ...args]);

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // No such process.
  }
}

async function fails(promise, code, delivery) {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof McpRuntimeError, inspect(error));
    assert.deepEqual([error.code, error.delivery], [code, delivery], error.message);
    return error;
  }
  assert.fail(`did not fail with ${code}`);
}

async function withPool(use, ...args) {
  const pool = new McpRuntimePool(...args);
  try {
    return await use(pool);
  } finally {
    await pool.closeAll();
  }
}

async function untilTrue(holds) {
  for (let turn = 0; turn < 2_000 && !holds(); turn++) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(holds(), String(holds));
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** The server of the reference implementation over HTTP; resolves when it listens. */
async function startEverything(port) {
  const child = spawn(process.execPath, [everything, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  await new Promise((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
      if (said.includes("listening on port")) resolve();
    });
    child.once("exit", () => reject(new Error(`the server ended: ${said}`)));
  });
  return async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  };
}

const checks = {};

for (const entry of entryPoints) {
  checks[`${entry} can be imported and exports something`] = async () => {
    const values = Object.keys(await load(entry));
    assert.ok(values.length > 0 || entry.endsWith("/protocols"), "no values");
  };
}

for (const entry of entryPoints.filter((entry) => entry.startsWith("./compat"))) {
  checks[`${entry} exports the very values of the canonical entry point`] = async () => {
    const legacy = await load(entry);
    const canonical = { ...await load("./runtime"), ...await load(".") };
    for (const [name, value] of Object.entries(legacy)) assert.equal(value, canonical[name], name);
    const counterpart = entry === "./compat" ? "./runtime" : entry.replace("./compat/", "./");
    if (entryPoints.includes(counterpart)) {
      assert.deepEqual(Object.keys(legacy).sort(), Object.keys(await load(counterpart)).sort());
    }
  };
}

checks["stdio: state is kept between calls, and closing ends the process"] = async () => {
  const pid = await withPool(async (pool) => {
    await pool.callTool(stateful(), null, "open_page", { url: "https://example.com/" });
    assert.deepEqual((await pool.callTool(stateful(), null, "current_page", {})).output, {
      page: "https://example.com/",
    });
    const facts = (await pool.callTool(stateful(), null, "facts", {})).output;
    assert.ok(isAlive(facts.pid));
    return facts.pid;
  });
  assert.ok(!isAlive(pid));
};

checks["stdio: arguments arrive whole, the environment is the short list and what is given"] = async () => {
  process.env.SMOKE_SECRET_OF_THE_PARENT = "not for servers";
  const connection = stdio("stateful", [statefulServer, "a b", "—🙂", ""], { env: { GIVEN: "1" } });
  const { output } = await withPool((pool) => pool.callTool(connection, null, "facts", {}));
  assert.deepEqual(output.args, ["a b", "—🙂", ""]);
  assert.equal(output.env.GIVEN, "1");
  assert.equal(output.env.PATH, process.env.PATH);
  assert.equal(output.env.SMOKE_SECRET_OF_THE_PARENT, undefined);
};

checks["stdio: a changed configuration replaces the session"] = () =>
  withPool(async (pool) => {
    const first = await pool.callTool(stateful(), null, "facts", {});
    const second = await pool.callTool(stateful("mark"), null, "facts", {});
    assert.notEqual(first.output.pid, second.output.pid);
    await untilTrue(() => !isAlive(first.output.pid));
  });

checks["stdio: a server that dies during a call is told with its exit code, and the next call has a new session"] =
  () =>
    withPool(async (pool) => {
      const error = await fails(pool.callTool(stateful(), null, "crash", { code: 3 }), "SESSION_LOST", "unknown");
      assert.equal(error.exitCode, 3);
      assert.equal((await pool.callTool(stateful(), null, "entries", {})).session.generation, 2);
    });

checks["stdio: a command that does not exist is refused before any wait"] = () =>
  withPool((pool) =>
    fails(
      pool.callTool(stdio("none", [], { command: "no-such-command-anywhere" }), null, "x", {}),
      "OPEN_FAILED",
      "not-sent",
    )
  );

checks["stdio: a call times out, another is aborted with the caller's own reason, the session goes on"] = () =>
  withPool(async (pool) => {
    const { output: { pid } } = await pool.callTool(stateful(), null, "facts", {});
    await fails(pool.callTool(stateful(), null, "never", {}, { timeoutMs: 50 }), "CALL_TIMEOUT", "unknown");
    const controller = new AbortController();
    const reason = new Error("enough");
    const call = pool.callTool(stateful(), null, "never", {}, { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 20);
    await assert.rejects(call, (error) => error === reason);
    assert.equal((await pool.callTool(stateful(), null, "facts", {})).output.pid, pid);
  });

checks["stdio: one megabyte there and back"] = () =>
  withPool(async (pool) => {
    const entry = "—🙂".repeat(200_000);
    assert.deepEqual((await pool.callTool(stateful(), null, "append", { entry })).output, { entries: [entry] });
  });

checks["stdio: a session of one's own ends with close"] = async () => {
  const session = await openMcpSession(stateful(), null);
  const { structuredContent: { pid } } = await session.callTool("facts", {});
  await session.close();
  assert.ok(!isAlive(pid));
};

checks["stdio: server-everything echoes and reports progress"] = () =>
  withPool(async (pool) => {
    const connection = stdio("everything", [everything, "stdio"]);
    const { content } = await pool.callTool(connection, null, "echo", { message: "hi" });
    assert.equal(content[0].text, "Echo: hi");
    const reports = [];
    const options = { onProgress: ({ progress }) => reports.push(progress) };
    await pool.callTool(connection, null, "trigger-long-running-operation", { duration: 0.2, steps: 2 }, options);
    assert.deepEqual(reports, [1, 2]);
  });

checks["HTTP: server-everything echoes; killed and restarted, it costs one failed call at most"] = () =>
  withPool(async (pool) => {
    const port = await freePort();
    const connection = http("everything", `http://127.0.0.1:${port}/mcp`);
    const call = async () => (await pool.callTool(connection, null, "echo", { message: "hi" })).content[0].text;
    let stop = await startEverything(port);
    try {
      assert.equal(await call(), "Echo: hi");
      await stop();
      stop = await startEverything(port);
      const outcomes = [await call().catch(() => "failed"), await call()];
      assert.equal(outcomes[1], "Echo: hi");
    } finally {
      await pool.closeAll();
      await stop();
    }
  });

async function withHttpServer(use) {
  const server = await startHttpServer();
  try {
    await use(server, http("counting", server.url));
  } finally {
    await server.close();
  }
}

const tokenOf = (token) => ({ connectionId: "counting.local", scheme: "bearer", payload: { token } });

checks["HTTP: one session for all calls, one DELETE at its end"] = () =>
  withHttpServer(async (server, connection) => {
    await withPool(async (pool) => {
      const count = async () => (await pool.callTool(connection, tokenOf("first-token"), "count", {})).output.count;
      assert.deepEqual([await count(), await count(), await count()], [1, 2, 3]);
    });
    assert.equal(server.seen.filter(({ rpc }) => rpc === "initialize").length, 1);
    assert.equal(server.seen.filter(({ method }) => method === "DELETE").length, 1);
    assert.equal(server.sessions.size, 0);
  });

checks["HTTP: a session that the server forgot is opened again and the call sent once more"] = () =>
  withHttpServer((server, connection) =>
    withPool(async (pool) => {
      await pool.callTool(connection, tokenOf("first-token"), "count", {});
      server.sessions.clear();
      const { output, session } = await pool.callTool(connection, tokenOf("first-token"), "count", {});
      assert.deepEqual([output.count, session.generation], [1, 2]);
    })
  );

checks["HTTP: wrong credentials are told, and shown nowhere"] = () =>
  withHttpServer((_server, connection) =>
    withPool(async (pool) => {
      const error = await fails(
        pool.callTool(connection, tokenOf("wrong-token"), "count", {}),
        "AUTH_REJECTED",
        "not-sent",
      );
      assert.ok(!`${inspect(error)} ${inspect(pool)} ${JSON.stringify(error)}`.includes("wrong-token"));
    })
  );

checks["HTTP: the credentials hook is asked again when a token has ended"] = () =>
  withHttpServer(async (server, connection) => {
    let token = "first-token";
    const credentials = ({ rejected }) => {
      if (rejected) token = "second-token";
      return { authorization: `Bearer ${token}` };
    };
    await withPool(async (pool) => {
      await pool.callTool(connection, null, "count", {});
      server.rotate("second-token");
      assert.deepEqual((await pool.callTool(connection, null, "count", {})).output, { count: 2 });
    }, new PersistentSessionFactory({ credentials }));
  });

checks["HTTP: a call that times out ends its exchange, and the session goes on"] = () =>
  withHttpServer((server, connection) =>
    withPool(async (pool) => {
      const auth = tokenOf("first-token");
      await fails(pool.callTool(connection, auth, "never", {}, { timeoutMs: 50 }), "CALL_TIMEOUT", "unknown");
      await untilTrue(() => server.seen.some(({ rpc, aborted }) => rpc === "tools/call" && aborted));
      assert.deepEqual((await pool.callTool(connection, auth, "count", {})).output, { count: 1 });
    })
  );

checks["HTTP: a refused connection is told as such"] = async () => {
  const port = await freePort();
  await withPool((pool) =>
    fails(pool.callTool(http("gone", `http://127.0.0.1:${port}/mcp`), null, "x", {}), "OPEN_FAILED", "not-sent")
  );
};

checks["the testing kit stands in for a server"] = async () => {
  const server = new FakeMcpServer({ tools: { add: ({ a, b }) => ({ sum: a + b }) } });
  await withPool(async (pool) => {
    assert.deepEqual((await pool.callTool(server.connection, null, "add", { a: 1, b: 2 })).output, { sum: 3 });
  }, server.sessionFactory());
  assert.deepEqual([server.opened, server.closed], [1, 1]);
};

checks["an SDK client lists tools over our transport"] = async () => {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const client = new Client({ name: "discovery", version: "1.0.0" });
  await client.connect(createTransport(stdio("everything", [everything, "stdio"]), null));
  try {
    assert.ok((await client.listTools()).tools.some(({ name }) => name === "echo"));
  } finally {
    await client.close();
  }
};

checks["connections of a mcpServers file are used"] = () =>
  withPool(async (pool) => {
    const file = { mcpServers: { "state.ful": { command: "${NODE}", args: [statefulServer] } } };
    const { connections, problems } = connectionsFromMcpServers(file, { variables: { NODE: process.execPath } });
    assert.deepEqual(problems, []);
    assert.equal((await pool.callTool(connections[0], null, "current_page", {})).output.page, null);
  });

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${name}\n${inspect(error)}`);
  }
}
process.exitCode = failed === 0 ? 0 : 1;
