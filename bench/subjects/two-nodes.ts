import { join } from "node:path";
import { freePort } from "../../test/free-port.js";
import { startTidemark, type Tidemark } from "./tidemark.js";

export const twoNumbers = [1, 2] as const;

/** Two nodes of a cluster with journals of their own; points are written nowhere. */
export async function startTwoNodes(dir: string): Promise<readonly [Tidemark, Tidemark]> {
  const ports = await Promise.all(twoNumbers.map(freePort));
  const shared = {
    LIBSQL_URL: `file:${join(dir, "cluster.db")}`,
    MASTER_KEY: "7".repeat(64),
    CLUSTER_NODES: twoNumbers.map((number, i) => `${number}@127.0.0.1:${ports[i]}`).join(),
  };
  // Nothing is written there.
  const influx = { url: "http://127.0.0.1:9", token: "none", org: "none", bucket: "none" };
  const start = (number: number, own: Readonly<Record<string, string>> = {}): Promise<Tidemark> =>
    startTidemark({
      dir,
      influx,
      holdSeries: true,
      environment: { ...shared, NODE_NUMBER: String(number), ...own },
    });
  const first = await start(1);
  // Each start makes sure of its key: they have the same.
  const [, key = ""] = first.authorization.split(" ");
  return [first, await start(2, { API_KEY: Buffer.from(key, "base64").toString() })];
}
