/** What the runner knows of test files: their tier, the order in which they start, and which share a process. */
import { sep } from "node:path";

/** They measure the time or the memory of their process, its signals or what it has open. */
export const filesWithOwnProcess: readonly string[] = [
  "api/http-connections",
  "commands/scheduler",
  "import-export/devices/files",
  "import-export/points/read-history",
  "ingest/access/proxies",
  "ingest/alerts/evaluate",
  "ingest/alerts/geofence",
  "ingest/decode/binary",
  "ingest/decode/cbor",
  "ingest/decode/points",
  "ingest/decode/values",
  "ingest/transports/mqtt/clients",
  "ingest/transports/mqtt/mutation",
  "query/formula/formula",
  "regular-expressions",
  "store/lib/abortable",
  "store/mqtt-sessions/session-store",
  "store/series/embedded/kill",
  "store/series/influx/csv",
  "suite",
];

/** Plain files that take longer than 5 s or kill a process, and why they are plain. */
export const plainExceptions: Readonly<Record<string, string>> = {
  "conformance/variant-a": "each line of the interface belongs to the first answer",
  "conformance/variant-b": "each line of the interface belongs to the first answer",
  "flow/kill": "one kill belongs to the first answer",
  suite: "it runs the runner",
};

/** Folders whose files start programs of others or kill processes; a process of each file's own keeps them apart. */
const foldersWithOwnProcesses = [
  "cluster",
  "conformance",
  "console",
  "contract",
  "flow",
  "fuzz",
  "influxd",
  "ingest/transports/broker",
  "kafka",
  "networks",
  "published",
  "store/journal/kafka",
];

/** `test/store/series/embedded/damage.slow.test.js` is `store/series/embedded/damage`. */
const readName = (file: string): string =>
  file
    .replaceAll("\\", "/")
    .replace(/^.*?test\//, "")
    .replace(/(\.slow)?\.test\.js$/, "");

const isIn = (folder: string, file: string): boolean => readName(file).startsWith(`${folder}/`);

export const isTestFile = (path: string): boolean =>
  path.endsWith(".test.js") && `${sep}${path}`.includes(`${sep}test${sep}`) && !/node_modules/.test(path);

export const isSlow = (file: string): boolean => file.endsWith(".slow.test.js");

/** Files under test/flow/ kill and time processes of their own: they run one at a time. */
export const isInFlow = (file: string): boolean => isIn("flow", file);

export function needsOwnProcess(file: string): boolean {
  if (filesWithOwnProcess.includes(readName(file))) return true;
  return isSlow(file)
    ? foldersWithOwnProcesses.some((folder) => isIn(folder, file))
    : Object.hasOwn(plainExceptions, readName(file));
}

/** Long files start first: a long file that starts last runs alone at the end. */
export function compareFiles(a: string, b: string): number {
  return readRank(a) - readRank(b) || (a < b ? -1 : 1);
}

/** Folders in the order of how long their longest files take. */
const longestFolders = [
  "flow",
  "conformance",
  "cluster",
  "store/journal/kafka",
  "contract",
  "console",
  "fuzz",
];

function readRank(file: string): number {
  const rank = longestFolders.findIndex((folder) => isIn(folder, file));
  return rank < 0 ? longestFolders.length : rank;
}
