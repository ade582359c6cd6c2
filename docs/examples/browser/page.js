/**
 * The page: calls tools through one pool, and shows the result, the progress and the session.
 *
 * @module
 */
import { McpRuntimePool } from "@wf/sources-mcp";
import {
  abortWords,
  eventWords,
  failureWords,
  outcomeWords,
  progressWords,
  readArguments,
  resultParts,
  stateWords,
} from "./words.ts";

const CONNECTION_ID = "browser.page";
const MAX_EVENTS = 50;

const $ = (id) => document.getElementById(id);
const pool = new McpRuntimePool(undefined, { onEvent });

/** The call that is running: its controller, and what the event of its end said of its delivery. */
let running;

function onEvent(event) {
  if (event.type === "call-settled" && running) running.delivery = event.delivery;
  const line = document.createElement("li");
  line.textContent = eventWords(event);
  $("events").prepend(line);
  while ($("events").childElementCount > MAX_EVENTS) $("events").lastElementChild.remove();
  setTimeout(showSession); // Events are told at once, the pool's listing follows.
}

function showSession() {
  // Last in the list is the newest: one that closes may still be there.
  const info = pool.sessions().at(-1);
  const state = stateWords(info);
  if ($("state").value !== state) $("state").value = state;
  $("state").dataset.state = info?.state ?? "none";
  $("generation").textContent = info?.generation ?? "–";
  $("session-id").textContent = info?.sessionId ?? "–";
  $("revision").textContent = info?.protocolVersion ?? "–";
  enable($("close"), info !== undefined);
}

/** A button that is really disabled would lose the focus. */
const enable = (button, enabled) => button.setAttribute("aria-disabled", String(!enabled));

/** Says what is wrong with a field, or nothing; true when it is fine. */
function check(id, problem) {
  $(`${id}-problem`).textContent = problem;
  $(id).setAttribute("aria-invalid", String(problem !== ""));
  return problem === "";
}

/** What the form asks for; `undefined` after saying what is wrong, with the focus on the first such field. */
function readForm() {
  const [url, toolName, timeout] = ["url", "tool", "timeout"].map((id) => $(id).value.trim());
  const { payload, problem = "" } = readArguments($("arguments").value);
  const seconds = Number(timeout);
  const fine = [
    check("url", /^https?:\/\//.test(url) && URL.canParse(url) ? "" : "Give an address that begins with https://."),
    check("tool", toolName === "" ? "Give the name of a tool." : ""),
    check("timeout", seconds >= 1 && seconds <= 3600 ? "" : "Give 1 to 3600 seconds."),
    check("arguments", problem),
  ];
  if (fine.includes(false)) {
    $("form").querySelector("[aria-invalid=true]").focus();
    return;
  }
  return { url, token: $("token").value.trim(), toolName, payload, timeoutMs: seconds * 1_000 };
}

function showProgress(report) {
  $("status").textContent = progressWords(report);
  const bar = $("progress");
  bar.hidden = false;
  if (report.total === undefined) return bar.removeAttribute("value");
  bar.max = report.total;
  bar.value = report.progress;
}

function paragraph(text, className) {
  const element = document.createElement("p");
  element.textContent = text;
  element.className = className;
  return element;
}

function showResult(result, elapsedMs) {
  $("status").textContent = outcomeWords(result, elapsedMs);
  $("status").dataset.outcome = result.outcome;
  for (const { title, text } of resultParts(result)) {
    const heading = document.createElement("h3");
    heading.textContent = title;
    const box = document.createElement("pre");
    box.textContent = text;
    box.tabIndex = 0; // So that a long one can be scrolled by keyboard.
    box.setAttribute("aria-label", title);
    $("result").append(heading, box);
  }
}

function showFailure({ title, ran, detail }) {
  $("status").textContent = "";
  $("failure").replaceChildren(paragraph(title, "title"), paragraph(ran, "ran"), paragraph(detail, "detail"));
}

async function callTool({ url, token, toolName, payload, timeoutMs }) {
  const controller = new AbortController();
  running = { controller };
  begin(toolName);
  const connection = { id: CONNECTION_ID, provider: "browser", account: "page", transport: { kind: "http", url } };
  const auth = token === "" ? null : { connectionId: CONNECTION_ID, scheme: "bearer", payload: { token } };
  const options = { signal: controller.signal, timeoutMs, onProgress: showProgress };
  const start = performance.now();
  try {
    showResult(await pool.callTool(connection, auth, toolName, payload, options), performance.now() - start);
  } catch (error) {
    const aborted = controller.signal.aborted && error === controller.signal.reason;
    showFailure(aborted ? abortWords(running.delivery) : failureWords(error));
  } finally {
    running = undefined;
    end();
  }
}

function begin(toolName) {
  $("status").textContent = `Calling ${toolName} …`;
  delete $("status").dataset.outcome;
  $("failure").replaceChildren();
  $("result").replaceChildren();
  enable($("call"), false);
  enable($("abort"), true);
}

function end() {
  $("progress").hidden = true;
  enable($("call"), true);
  enable($("abort"), false);
}

function call() {
  if (running) return;
  const request = readForm();
  if (request) callTool(request);
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  call();
});
$("arguments").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) call();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") running?.controller.abort();
});
$("abort").addEventListener("click", () => running?.controller.abort());
$("close").addEventListener("click", () => pool.closeConnection(CONNECTION_ID));
for (const button of document.querySelectorAll("[data-tool]")) {
  button.addEventListener("click", () => {
    $("tool").value = button.dataset.tool;
    $("arguments").value = button.dataset.arguments;
  });
}
// Nothing promises that this still reaches the server: it forgets a silent session by its own rules.
addEventListener("pagehide", () => pool.closeConnection(CONNECTION_ID));
