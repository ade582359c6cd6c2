import type { ToolExecutor } from "../../mod.ts";
import * as runtime from "../../runtime/mod.ts";
import { contractSuite } from "./suite.ts";

contractSuite("runtime/", { ...runtime, executor: (pool): ToolExecutor => pool });
