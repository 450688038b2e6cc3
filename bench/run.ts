/** `npm run bench -- <name> [options]`: one program of `programs/` for each hot path. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BenchOptions, parseOptions } from "./options.js";
import { type Figure, printReport } from "./report.js";
import { writeResultsPage } from "./results-page.js";

type Program = (options: BenchOptions) => Promise<Figure[]>;

const programs: Record<string, () => Promise<Program>> = {
  api: async () => (await import("./programs/api.js")).benchApi,
  broker: async () => (await import("./programs/broker.js")).benchBroker,
  ceiling: async () => (await import("./programs/ceiling.js")).benchCeiling,
  console: async () => (await import("./programs/console.js")).benchConsole,
  dashboards: async () => (await import("./programs/dashboards.js")).benchDashboards,
  cluster: async () => (await import("./programs/cluster.js")).benchCluster,
  "cluster-soak": async () => (await import("./programs/cluster-soak.js")).benchClusterSoak,
  decode: async () => (await import("./programs/decode.js")).benchDecode,
  connections: async () => (await import("./programs/connections.js")).benchConnections,
  commands: async () => (await import("./programs/commands.js")).benchCommands,
  evil: async () => (await import("./programs/evil.js")).benchEvil,
  events: async () => (await import("./programs/events.js")).benchEvents,
  fanout: async () => (await import("./programs/fanout.js")).benchFanout,
  handshakes: async () => (await import("./programs/handshakes.js")).benchHandshakes,
  formula: async () => (await import("./programs/formula.js")).benchFormula,
  "history-io": async () => (await import("./programs/history-io.js")).benchHistoryIO,
  ingest: async () => (await import("./programs/ingest.js")).benchIngest,
  journal: async () => (await import("./programs/journal.js")).benchJournal,
  kafka: async () => (await import("./programs/kafka.js")).benchKafka,
  loop: async () => (await import("./programs/loop.js")).benchLoop,
  move: async () => (await import("./programs/move.js")).benchMove,
  query: async () => (await import("./programs/query.js")).benchQuery,
  removals: async () => (await import("./programs/removals.js")).benchRemovals,
  retention: async () => (await import("./programs/retention.js")).benchRetention,
  scale: async () => (await import("./programs/scale.js")).benchScale,
  shards: async () => (await import("./programs/shards.js")).benchShards,
  sizing: async () => (await import("./programs/sizing.js")).benchSizing,
  soak: async () => (await import("./programs/soak.js")).benchSoak,
  takeover: async () => (await import("./programs/takeover.js")).benchTakeover,
  transports: async () => (await import("./programs/transports.js")).benchTransports,
  backup: async () => (await import("./programs/backup.js")).benchBackup,
  transfer: async () => (await import("./programs/transfer.js")).benchTransfer,
  alerts: async () => (await import("./programs/alerts.js")).benchAlerts,
};

async function main(): Promise<void> {
  const [name = "", ...args] = process.argv.slice(2);
  if (name === "results") return writeResultsPage();
  const program = programs[name];
  if (program === undefined) {
    throw new Error(
      `cannot run bench "${name}": the programs are ${Object.keys(programs).join(", ")}, and "results"`,
    );
  }
  const options = parseOptions(args, tmpdir());
  const dir = await mkdtemp(join(options.dir, "tidemark-bench-"));
  try {
    printReport(name, await (await program())({ ...options, dir }));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

// One exit listener for each child that runs.
process.setMaxListeners(64);
process.once("SIGINT", () => process.exit(130));
main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
