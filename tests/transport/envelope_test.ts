import { assertEquals } from "@std/assert";
import { readEnvelope, readTrailingId } from "../../runtime/transport/envelope.ts";

Deno.test("readEnvelope tells a response by its outermost members, whatever its result holds", () => {
  const cases: [string, unknown][] = [
    ['{"jsonrpc":"2.0","id":5,"result":{"content":[{"te', { kind: "response", id: 5 }],
    ['{"jsonrpc":"2.0","id":0,"result":{', { kind: "response", id: 0 }],
    ['{"jsonrpc":"2.0","id":"a\\"b","error":{"code":1', { kind: "response", id: 'a"b' }],
    [' { "result" : { "id": 9, "method": "x", "y": ["}', { kind: "response" }],
    ['{"result":{"a":"{\\"id\\":3}"},"id":7', { kind: "response", id: 7 }],
    ['{"jsonrpc":"2.0","result":', { kind: "response" }],
    ['{"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{', { kind: "other" }],
    ['{"params":{"data":"xxxx', { kind: "other" }],
    ['{"jsonrpc":"2.0","id":5', { kind: "unknown" }],
    ["yyyyyyyyyyyyyy", { kind: "unknown" }],
    ["", { kind: "unknown" }],
    ['[{"id":1,"result":{}', { kind: "unknown" }],
  ];
  for (const [prefix, expected] of cases) assertEquals(readEnvelope(prefix), expected, prefix);
});

Deno.test("readTrailingId reads the id of the outermost object only", () => {
  const cases: [string, unknown][] = [
    ['xxx"}]},"jsonrpc":"2.0","id":12}', 12],
    ['xxx"}]}, "id" : "k-1" , "jsonrpc" : "2.0" }\r', "k-1"],
    ['xxx"},"id":0}', 0],
    ['xxx","id":7}}', undefined],
    ['xxx"id":7', undefined],
    ["", undefined],
  ];
  for (const [suffix, expected] of cases) assertEquals(readTrailingId(suffix), expected, suffix);
});
