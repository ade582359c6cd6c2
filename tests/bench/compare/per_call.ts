/**
 * This library without its pool: each call opens a session, makes the call and closes the session.
 *
 * @module
 */
import { openMcpSession, parseConnection } from "../../../mod.ts";
import { type Contender, textOf } from "./contender.ts";

/** A session per call. */
export const contender: Contender = {
  keepsNothing: true,
  open(transport) {
    const connection = parseConnection({ id: "bench.once", provider: "bench", account: "once", transport });
    return Promise.resolve({
      async call(tool, args) {
        const client = await openMcpSession(connection, null);
        try {
          return textOf(await client.callTool(tool, args));
        } finally {
          await client.close();
        }
      },
      close: () => Promise.resolve(),
    });
  },
};
