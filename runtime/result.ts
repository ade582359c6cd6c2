/**
 * The result of a tool call, read leniently: servers return more shapes than the schema has. Pure.
 *
 * @module
 */
import { McpRuntimeError } from "./errors.ts";

/** One block of a result's content: text, image, audio, a resource, or a kind that is not known yet. */
export interface ContentBlock {
  /** Kind of the block, such as `text`. */
  type: string;
  /** What the kind carries. */
  [key: string]: unknown;
}

/** The `result` object of a `tools/call` response as the server sent it (MCP 2025-11-25, schema, CallToolResult). */
export interface RawCallToolResult {
  /** Content blocks; older and odd servers send other things or nothing. */
  content?: unknown;
  /** Structured result, when the tool has one. */
  structuredContent?: unknown;
  /** Whether the tool failed. */
  isError?: boolean;
  /** Metadata. */
  _meta?: Record<string, unknown>;
  /** Anything else. */
  [key: string]: unknown;
}

/** What a tool call gives back. A tool's own failure is a result with outcome `error`, never an exception. */
export interface ToolCallResult {
  /** `error` when the tool said so (`isError`). */
  outcome: "ok" | "error";
  /** `structuredContent` when it is an object, else `{ content }`. */
  output: Record<string, unknown>;
  /** The result's `_meta`, `{}` when absent. */
  meta: Record<string, unknown>;
  /** The content blocks, always. */
  content: readonly ContentBlock[];
  /** `structuredContent` as it came, of any kind; absent when the server sent none. */
  structuredContent?: unknown;
  /** Set by the pool: which session answered. A higher generation has lost the state of the one before. */
  session?: { generation: number };
}

/**
 * Reads a raw result. Every JSON object is accepted and no text is lost: content that is not an array becomes one, a
 * result without `content` and `structuredContent` becomes one text block of its JSON, and the `toolResult` of MCP
 * 2024-10-07 is read like a result or, if it is none, as structured content.
 *
 * @param raw what `tools/call` returned
 * @returns the normalised result
 * @throws {McpRuntimeError} `PROTOCOL_ERROR` with delivery `answered` when `raw` is not an object
 *
 * @example
 * ```ts
 * import { toolResultToCallResult } from "@wf/sources-mcp";
 *
 * const result = toolResultToCallResult({ content: [], structuredContent: { echoed: "hi" } });
 * console.log(result.outcome, result.output); // ok { echoed: "hi" }
 * ```
 */
export function toolResultToCallResult(raw: unknown): ToolCallResult {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
    const seen = raw === null ? "null" : Array.isArray(raw) ? "an array" : typeof raw;
    throw new McpRuntimeError(`a tool result must be an object: ${seen}`, {
      code: "PROTOCOL_ERROR",
      delivery: "answered",
    });
  }
  const result = unwrapLegacy(raw as Record<string, unknown>);
  const content = contentOf(result);
  const structured = result.structuredContent;
  return {
    outcome: result.isError === true ? "error" : "ok",
    output: isObject(structured) ? structured : { content },
    meta: isObject(result._meta) ? result._meta : {},
    content,
    ...(structured === undefined ? {} : { structuredContent: structured }),
  };
}

/**
 * MCP 2024-10-07 put the whole result under `toolResult`, of any kind. Beside a content that says something it is taken
 * for a copy of it, for older clients.
 */
function unwrapLegacy(raw: Record<string, unknown>): Record<string, unknown> {
  if (!("toolResult" in raw) || !saysNothing(raw.content)) return raw;
  const { toolResult, ...rest } = raw;
  if (isObject(toolResult) && saysNothing(rest.structuredContent)) {
    const nested = "content" in toolResult || "structuredContent" in toolResult;
    return nested ? { ...rest, ...toolResult } : { ...rest, content: [], structuredContent: toolResult };
  }
  return { ...rest, content: toolResult };
}

function saysNothing(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function contentOf(result: Record<string, unknown>): ContentBlock[] {
  const { content } = result;
  if (Array.isArray(content)) return content.every(isBlock) ? content : content.map(toBlock);
  if (content !== undefined && content !== null) return [toBlock(content)];
  if (result.structuredContent !== undefined) return [];
  const { isError: _isError, _meta, content: _content, ...rest } = result;
  return Object.keys(rest).length === 0 ? [] : [toBlock(rest)];
}

function isBlock(value: unknown): value is ContentBlock {
  return isObject(value) && typeof value.type === "string";
}

function toBlock(value: unknown): ContentBlock {
  if (isBlock(value)) return value;
  return { type: "text", text: typeof value === "string" ? value : JSON.stringify(value) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
