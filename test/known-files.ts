/** What the runner knows of test files: which take long, which need a process of their own, and which are not fast. */

/** Seconds that a file takes, of those above 20, longest first; all others are taken to be short. */
export const knownSeconds: Readonly<Record<string, number>> = {
  "cluster/cut-off": 110,
  "flow/backup": 95,
  "flow/sessions-kill": 73,
  "flow/move-series": 72,
  "store/journal/kafka/partition": 70,
  "cluster/cut-networks": 69,
  "flow/commands-kill": 68,
  "flow/history": 65,
  "flow/broker": 65,
  "api/live": 64,
  "cluster/whole-load": 85,
  "cluster/moving": 66,
  "cluster/several-influx": 55,
  "cluster/crash": 45,
  "cluster/broker": 50,
  "cluster/broker-kafka": 95,
  "flow/start-guards": 61,
  "flow/kafka-journal": 97,
  "console/live": 61,
  "fuzz/fuzz": 58,
  "ingest/sessions/saved-sessions": 57,
  "flow/kill": 54,
  "flow/influx-trouble": 53,
  "flow/retention-clock": 48,
  "flow/output-gone": 36,
  "store/series/embedded/rebuild": 60,
  "store/events/events": 30,
  "api/browser-session": 51,
  "console/accessibility": 50,
  "console/map": 48,
  "flow/notifications-kill": 48,
  "contract/series-formulas": 46,
  "store/series/embedded/damage": 46,
  "store/journal/kafka/power-failure": 45,
  "ingest/transports/mqtt/bad-input": 46,
  "console/dashboards": 45,
  "console/zones": 45,
  "contract/series-influx": 44,
  "store/journal/replicated/contract": 22,
  "store/journal/replicated/faults": 22,
  "service/moved-sessions": 22,
  "console/shell": 43,
  "store/files/copy-database": 43,
  "notifications/routing": 41,
  "console/admin-pages": 40,
  "flow/influx-away": 40,
  "api/fuzz": 38,
  "console/lists": 38,
  "console/keyboard": 38,
  "flow/set-aside": 37,
  "api/removals": 37,
  "flow/demo": 37,
  "store/metadata/commands/control-logs": 36,
  "ingest/transports/mqtt/service": 36,
  "store/metadata/devices/places": 35,
  "ingest/transports/http/limits": 35,
  "ingest/transports/broker/trouble": 34,
  "ingest/alerts/consumer": 34,
  "import-export/points/round-trip": 32,
  "api/frame": 32,
  "contract/series-property": 32,
  "store/series/embedded/spans": 32,
  "console/explore": 31,
  "console/metrics": 31,
  "notifications/delivery": 30,
  "flow/backup-tasks": 30,
  "cluster/backup": 40,
  "cluster/kafka": 35,
  "cluster/http": 30,
  "console/admin": 29,
  "ingest/transports/mqtt/listeners/transports": 29,
  "cluster/shard-leases": 28,
  "store/series/embedded/embedded": 29,
  "published/mosquitto": 29,
  "published/mqtt-brokers": 29,
  "kafka/brokers": 28,
  "conformance/variant-b": 27,
  "ingest/consumers/edits": 27,
  "store/journal/kafka/topic": 26,
  "cluster/kill": 26,
  "contract/series-several": 24,
  "store/journal/kafka/secure-links": 25,
  "flow/reload": 25,
  "conformance/variant-a": 25,
  "console/backups": 25,
  "api/backups": 25,
  "console/commands": 23,
  "contract/influx-trouble": 23,
  "published/files": 23,
  "ingest/transports/mqtt/publish": 23,
  "flow/alerts-kill": 23,
  "ingest/access/guessing": 22,
  "store/metadata/devices/search": 22,
  "api/map-tiles": 22,
  "api/devices-import": 21,
  "api/http-connections": 21,
};

/** Rooms that start programs of others, kill processes, or make cases for a whole minute. */
const slowRooms = [
  "conformance",
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
  "store/series/embedded/kill",
  "store/series/influx/csv",
  "suite",
];

/** `test/store/series/embedded/damage.slow.test.js` is `store/series/embedded/damage`. */
const nameOf = (file: string): string =>
  file
    .replaceAll("\\", "/")
    .replace(/^.*?test\//, "")
    .replace(/(\.slow)?\.test\.js$/, "");

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
