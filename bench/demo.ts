/**
 * npm run demo [-- --keep]: a year of hourly weather goes in over MQTT, then the questions of a dashboard and of
 * an analyst are asked over HTTP. Starts a service of its own, or uses that at TIDEMARK_URL.
 */
import { parseArgs } from "node:util";
import { createApi } from "./api.js";
import { ask, requestOf } from "./demo-answers.js";
import { archive } from "./demo-archive.js";
import { publishYear, settled } from "./demo-edge.js";
import { createProgress, thousands } from "./demo-print.js";
import { questionsFor } from "./demo-questions.js";
import { givenService, type Service, startService } from "./demo-service.js";
import { createStation, type Station } from "./demo-station.js";
import { readYear } from "./demo-year.js";

const { values: flags } = parseArgs({ options: { keep: { type: "boolean", default: false } } });
const say = (text = ""): void => void process.stdout.write(`${text}\n`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => process.exit(signal === "SIGINT" ? 130 : 143));
}

const service = givenService(process.env) ?? (await startService(process.env));
try {
  const station = await load(service);
  await askAll(service, station);
  await archive(service, station, say);
} catch (error) {
  await service.close();
  throw error;
}
await end(service);

async function load({ http, mqtt, key, own }: Service): Promise<Station> {
  say(`Tidemark ${own === null ? "at" : "started at"} ${http} (API) and ${mqtt} (devices)`);
  const api = createApi(http, { authorization: `Bearer ${key}` });
  const station = await createStation(api);
  const hours = readYear();
  say(
    `A product, three data points, ${station.metrics.size} metrics, an alert rule and device ${station.deviceID} are made.`,
  );
  say(`The edge node sends the hourly normals of Seattle for 2010, QoS 1, one message an hour of the year:`);
  const startedAt = performance.now();
  await publishYear(mqtt, station, hours, createProgress(process.stdout, "hours acknowledged", hours.length));
  const acknowledgedAt = performance.now();
  await settled(api);
  api.close();
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
  say(
    `  on disk and acknowledged in ${seconds(acknowledgedAt - startedAt)}; all ${thousands(hours.length * 3)} ` +
      `points readable ${seconds(performance.now() - acknowledgedAt)} later`,
  );
  return station;
}

async function askAll({ http, key, own }: Service, station: Station): Promise<void> {
  say(`\nEach answer below is that of the line above it${own === null ? "" : `, with KEY=${key}`}`);
  for (const question of questionsFor(station)) {
    say(`\nThe ${question.who} asks: ${question.asks}`);
    say(`  ${requestOf(http, question).curl}`);
    say(await ask(http, key, question));
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
