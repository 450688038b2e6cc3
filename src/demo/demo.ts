/**
 * npm run demo [-- --keep]: a year of hourly weather goes in over MQTT, then the demo asks the questions of a dashboard
 * and of an analyst over HTTP. Starts a service of its own, or uses the one at TIDEMARK_URL.
 */
import { parseArgs } from "node:util";
import { ask, curlOf } from "./answers.js";
import { archive } from "./archive.js";
import { type Client, createClient } from "./client.js";
import { publishYear, settled } from "./edge-node.js";
import { createProgress, thousands } from "./print.js";
import { questionsFor } from "./questions.js";
import { givenService, type Service, startService } from "./service.js";
import { createStation, type Station } from "./station.js";
import { readYear } from "./weather.js";

const { values: flags } = parseArgs({ options: { keep: { type: "boolean", default: false } } });
const say = (text = ""): void => void process.stdout.write(`${text}\n`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => process.exit(signal === "SIGINT" ? 130 : 143));
}

const service = givenService(process.env) ?? (await startService(process.env));
try {
  const client = createClient(service.http, service.key);
  const station = await load(client, service);
  await askAll(client, service, station);
  await archive(client, service.http, station, say);
} catch (error) {
  await service.close();
  throw error;
}
await end(service);

async function load(client: Client, { http, mqtt, own }: Service): Promise<Station> {
  say(`Tidemark ${own === null ? "at" : "started at"} ${http} (API) and ${mqtt} (devices)`);
  const station = await createStation(client);
  const hours = readYear();
  say(
    `A product, three data points, ${station.metrics.size} metrics, an alert rule and device ${station.deviceID} are made.`,
  );
  say(`The edge node sends the hourly normals of Seattle for 2010, QoS 1, one message an hour of the year:`);
  const startedAt = performance.now();
  await publishYear(mqtt, station, hours, createProgress(process.stdout, "hours acknowledged", hours.length));
  const acknowledgedAt = performance.now();
  await settled(client);
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
  say(
    `  on disk and acknowledged in ${seconds(acknowledgedAt - startedAt)}; all ${thousands(hours.length * 3)} ` +
      `points readable ${seconds(performance.now() - acknowledgedAt)} later`,
  );
  return station;
}

async function askAll(client: Client, { http, key, own }: Service, station: Station): Promise<void> {
  say(`\nEach answer below is that of the line above it${own === null ? "" : `, with KEY=${key}`}`);
  for (const question of questionsFor(station)) {
    say(`\nThe ${question.who} asks: ${question.asks}`);
    say(`  ${curlOf(http, question)}`);
    say(await ask(client, question));
  }
}

async function end(service: Service): Promise<void> {
  const { http, mqtt, key, own } = service;
  say();
  if (own === null) return say("The product and its device stay in the service.");
  if (!flags.keep) {
    await service.close();
    return say("The service is stopped and its folder removed. To keep it running: npm run demo -- --keep");
  }
  service.keep();
  say("The service goes on running.");
  say(`  API      ${http}\n  devices  ${mqtt}\n  KEY=${key}`);
  say(`  folder   ${own.dir}\n  stop it  kill ${own.pid} && rm -r ${own.dir}`);
}
