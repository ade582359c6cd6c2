/**
 * This library, as most programs use it: one pool with default options.
 *
 * @module
 */
import { McpRuntimePool, parseConnection } from "../../../mod.ts";
import { type Contender, textOf } from "./contender.ts";

const pool = new McpRuntimePool();
let opened = 0;

/** `McpRuntimePool`. */
export const contender: Contender = {
  async open(transport) {
    const account = `n${opened++}`;
    const connection = parseConnection({ id: `bench.${account}`, provider: "bench", account, transport });
    await pool.getSession(connection, null);
    return {
      call: async (tool, args) => textOf(await pool.callTool(connection, null, tool, args)),
      close: () => pool.closeConnection(connection.id),
    };
  },
};
