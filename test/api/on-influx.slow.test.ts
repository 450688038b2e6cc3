/** The suites that hold for both engines, on InfluxDB. */
import { loadOnInflux } from "../world.js";

const files = [
  "alert-rule-preview",
  "charts",
  "dashboard-shares",
  "fleet",
  "metric-preview",
  "redecode",
  "removals.slow",
  "zones",
];

await loadOnInflux(files.map((name) => new URL(`./${name}.test.js`, import.meta.url)));
