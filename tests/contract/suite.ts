/** The contract, row by row, on whatever exports the runtime. Row 16 is about the paths themselves: legacy_paths_test.ts. */
import { factoryRows } from "./factory_rows.ts";
import { poolRows } from "./pool_rows.ts";
import { rowsOf, type Runtime } from "./runtime.ts";
import { serviceRows } from "./service_rows.ts";
import { sessionRows } from "./session_rows.ts";

/** Declares the whole suite for one path. */
export function contractSuite(path: string, runtime: Runtime): void {
  const row = rowsOf(path);
  sessionRows(row, runtime);
  factoryRows(row, runtime);
  poolRows(row, runtime);
  serviceRows(row, runtime);
}
