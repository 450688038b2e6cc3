/** Two services that share one metadata database, each with a data folder and a number of its own. */
import { randomBytes } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type RunningService, startService } from "./support.js";

export interface Pair {
  /** Starts process 0 or 1. */
  start(node: 0 | 1): Promise<RunningService>;
}

export function createPair(dir: string, environment: Readonly<Record<string, string>> = {}): Pair {
  const shared = {
    LIBSQL_URL: `file:${join(dir, "metadata.db")}`,
    MASTER_KEY: randomBytes(32).toString("hex"),
    API_KEY: `pair:${randomBytes(16).toString("hex")}`,
    ...environment,
  };
  return {
    start: async (node) => {
      const dataDir = join(dir, `node-${node}`);
      await mkdir(dataDir, { recursive: true });
      return startService(dataDir, { ...shared, NODE_NUMBER: String(node) });
    },
  };
}
