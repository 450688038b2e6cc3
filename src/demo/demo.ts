/**
 * npm run demo [-- --keep]: a year of hourly weather goes in over MQTT, then the demo asks the questions of a dashboard
 * and of an analyst over HTTP. Starts a service of its own, or uses the one at TIDEMARK_URL. `--keep` leaves it running
 * with a fleet that goes on sending, and two dashboards.
 */
import { parseArgs } from "node:util";
import { archive } from "./archive.js";
import { createClient, type DemoClient } from "./client.js";
import { createDemoQueries } from "./demo-queries.js";
import { publishYear, settled } from "./edge-node.js";
import { createProgressLine, thousands } from "./print.js";
import { formatCurl, runQuery } from "./run-query.js";
import { keepLiving } from "./saved-demo.js";
import { type DemoService, givenService, startDemoService } from "./service.js";
import { createStation, type Station } from "./station.js";
import { readYear } from "./weather.js";

const { values: flags } = parseArgs({ options: { keep: { type: "boolean", default: false } } });
const say = (text = ""): void => void process.stdout.write(`${text}\n`);

// As SIGPIPE would.
process.stdout.on("error", () => process.exit(141));
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => process.exit(signal === "SIGINT" ? 130 : 143));
}

const service = givenService(process.env) ?? (await startDemoService(process.env));
try {
  const client = createClient(service.http, service.key);
  const station = await load(client, service);
  await askAll(client, service, station);
  await archive(client, service.http, station, say);
  await (flags.keep ? saveDemo(client, service, station) : end(service));
} catch (error) {
  await service.close();
  throw error;
}

async function load(client: DemoClient, { http, mqtt, own }: DemoService): Promise<Station> {
  say(`Tidemark ${own === null ? "at" : "started at"} ${http} (API) and ${mqtt} (devices)`);
  const station = await createStation(client);
  const hours = readYear();
  say(
    `A product, three data points, ${station.metrics.size} metrics, an alert rule and device ${station.deviceID} are made.`,
  );
  say(`The edge node sends the hourly normals of Seattle for 2010, QoS 1, one message an hour of the year:`);
  const startedAt = performance.now();
  await publishYear(
    mqtt,
    station,
    hours,
    createProgressLine(process.stdout, "hours acknowledged", hours.length),
  );
  const acknowledgedAt = performance.now();
  await settled(client);
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
  say(
    `  on disk and acknowledged in ${seconds(acknowledgedAt - startedAt)}; all ${thousands(hours.length * 3)} ` +
      `points readable ${seconds(performance.now() - acknowledgedAt)} later`,
  );
  return station;
}

async function askAll(client: DemoClient, { http, key, own }: DemoService, station: Station): Promise<void> {
  say(`\nEach answer below is that of the line above it${own === null ? "" : `, with KEY=${key}`}`);
  for (const query of createDemoQueries(station)) {
    say(`\nThe ${query.who} asks: ${query.asks}`);
    say(`  ${formatCurl(http, query)}`);
    say(await runQuery(client, query));
  }
}

async function end(service: DemoService): Promise<void> {
  say();
  if (service.own === null) return say("The product and its device stay in the service.");
  await service.close();
  say("The service is stopped and its folder removed. To keep it running: npm run demo -- --keep");
}

async function saveDemo(client: DemoClient, service: DemoService, station: Station): Promise<void> {
  const { http, mqtt, key, own } = service;
  const { simulator, lines } = await keepLiving(client, service, station);
  service.keep();
  say();
  if (own !== null) say("The service goes on running.");
  for (const line of lines) say(line);
  say(`  API        ${http}\n  devices    ${mqtt}\n  KEY=${key}`);
  if (own === null) return say(`  stop it    kill ${simulator}`);
  say(`  folder     ${own.dir}\n  stop all   kill ${own.pid} ${simulator} && sleep 2 && rm -r ${own.dir}`);
}
