/** What the runner knows of test files: which take long, which need a process of their own, and which are not fast. */

/** Seconds that a file takes, of those above 20, longest first; all others are taken to be short. */
export const knownSeconds: Readonly<Record<string, number>> = {
  "contract/series-formulas": 110,
  "flow/start-guards": 104,
  "flow/set-aside": 90,
  "store/series/embedded/damage": 82,
  "flow/commands-kill": 80,
  "contract/series-influx": 75,
  "api/live": 68,
  "flow/history": 67,
  "flow/influx-trouble": 63,
  "fuzz/fuzz": 63,
  "flow/backup": 70,
  "flow/backup-tasks": 30,
  "console/backups": 25,
  "api/backups": 25,
  "console/explore": 62,
  "flow/kill": 61,
  "import-export/points/run-import": 57,
  "flow/sessions-kill": 56,
  "ingest/transports/broker/trouble": 51,
  "flow/broker": 51,
  "ingest/transports/mqtt/bad-input": 45,
  "import-export/points/round-trip": 45,
  "console/live": 60,
  "console/commands": 60,
  "console/admin": 50,
  "api/frame": 39,
  "api/removals": 38,
  "contract/series-property": 37,
  "api/devices-import": 35,
  "store/series/embedded/kill": 34,
  "ingest/alerts/consumer": 33,
  "ingest/transports/mqtt/listeners/transports": 33,
  "contract/influx-trouble": 32,
  "store/series/embedded/embedded": 32,
  "api/fuzz": 31,
  "store/metadata/commands/control-logs": 31,
  "flow/move-series": 36,
  "console/messages": 34,
  "notifications/routing": 35,
  "flow/notifications-kill": 46,
  "console/accessibility": 70,
  "console/zones": 60,
  "console/keyboard": 40,
  "console/metrics": 30,
  "console/lists": 30,
  "flow/reload": 29,
  "store/series/embedded/spans": 28,
  "published/files": 27,
  "flow/demo": 25,
  "ingest/transports/mqtt/service": 26,
  "flow/presence": 26,
  "store/events/events": 25,
  "ingest/access/enforcement": 25,
  "notifications/delivery": 25,
  "flow/influx-away": 24,
  "flow/removals-kill": 24,
  "flow/journal-damage": 24,
  "console/map": 36,
  "console/shell": 29,
  "conformance/variant-b": 24,
  "conformance/variant-a": 24,
  "ingest/transports/mqtt/publish": 24,
  "published/mosquitto": 23,
  "flow/offline": 23,
  "ingest/consumers/edits": 23,
  "ingest/access/guessing": 22,
  "api/map-tiles": 22,
  "flow/transfer-kill": 21,
};

/** Rooms that start programs of others, kill processes, or make cases for a whole minute. */
const slowRooms = [
  "conformance",
  "contract",
  "flow",
  "fuzz",
  "influxd",
  "ingest/transports/broker",
  "published",
];

/** They measure the time or the memory of their process, its signals or what it has open. */
export const aloneFiles: readonly string[] = [
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
  "store/series/influx/csv",
  "suite",
];

/** `test/store/series/embedded/damage.test.js` is `store/series/embedded/damage`. */
const nameOf = (file: string): string =>
  file
    .replaceAll("\\", "/")
    .replace(/^.*?test\//, "")
    .replace(/\.test\.js$/, "");

export const secondsOfFile = (file: string): number => knownSeconds[nameOf(file)] ?? 0;

const isOfSlowRoom = (name: string): boolean =>
  slowRooms.some((room) => name === room || name.startsWith(`${room}/`));

/** Whether it needs a process of its own; others share one. */
export function isAlone(file: string): boolean {
  const name = nameOf(file);
  return secondsOfFile(file) > 0 || aloneFiles.includes(name) || isOfSlowRoom(name);
}

/** Whether `--fast` runs it: units and the embedded API, of which no file takes long. */
export function isFast(file: string): boolean {
  const name = nameOf(file);
  return secondsOfFile(file) === 0 && !isOfSlowRoom(name);
}
