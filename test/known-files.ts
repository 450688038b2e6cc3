/** What the runner knows of files before it runs them: which take long, and which `--fast` leaves out. */

/** Seconds that a file takes, of those above 20, longest first; all others are taken to be short. */
export const knownSeconds: Readonly<Record<string, number>> = {
  "contract/series-formulas": 110,
  "flow/start-guards": 104,
  "flow/set-aside": 90,
  "store/series/damage": 82,
  "flow/commands-kill": 80,
  "contract/series-influx": 75,
  "api/live": 68,
  "flow/history": 67,
  "flow/influx-trouble": 63,
  "fuzz/fuzz": 63,
  "flow/kill": 61,
  "import-export/points/run-import": 57,
  "flow/sessions-kill": 56,
  "broker/trouble": 51,
  "flow/broker": 51,
  "mqtt/bad-input": 45,
  "import-export/points/round-trip": 45,
  "api/frame": 39,
  "api/removals": 38,
  "contract/series-property": 37,
  "api/devices-import": 35,
  "store/series/kill": 34,
  "ingest/consumers/alerts": 33,
  "ingest/mqtt-transports": 33,
  "contract/influx-trouble": 32,
  "store/series/embedded": 32,
  "api/fuzz": 31,
  "store/metadata/control-logs": 31,
  "flow/reload": 29,
  "store/series/spans": 28,
  "published/files": 27,
  "ingest/mqtt": 26,
  "flow/presence": 26,
  "store/events/events": 25,
  "ingest/access": 25,
  "flow/influx-away": 24,
  "flow/removals-kill": 24,
  "flow/journal-damage": 24,
  "conformance/variant-b": 24,
  "conformance/variant-a": 24,
  "mqtt/publish": 24,
  "published/mosquitto": 23,
  "flow/offline": 23,
  "ingest/consumers/edits": 23,
  "ingest/guarding": 22,
  "flow/transfer-kill": 21,
};

/** Rooms that start programs of others, kill processes, or make cases for a whole minute. */
const slowRooms = ["broker", "conformance", "contract", "flow", "fuzz", "influxd", "published"];

/** `test/store/series/damage.test.js` is `store/series/damage`. */
const nameOf = (file: string): string =>
  file
    .replaceAll("\\", "/")
    .replace(/^.*?test\//, "")
    .replace(/\.test\.js$/, "");

export const secondsOfFile = (file: string): number => knownSeconds[nameOf(file)] ?? 0;

/** Whether `--fast` runs it: units and the embedded API, of which no file takes long. */
export function isFast(file: string): boolean {
  const name = nameOf(file);
  return secondsOfFile(file) === 0 && !slowRooms.some((room) => name === room || name.startsWith(`${room}/`));
}
