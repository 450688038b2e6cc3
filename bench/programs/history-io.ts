import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { startInflux } from "../../test/influxd/influxd.js";
import { bareLineRate } from "../baselines/bare-influx.js";
import { type FleetOfDevices, points, provision } from "../load/fleet.js";
import { percentileOf } from "../load/histogram.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { cpuSeconds, rssMB } from "../subjects/proc.js";
import { startTidemark, type Tidemark, type TidemarkOptions } from "../subjects/tidemark.js";

const full = { embedded: 10_000_000, influx: 3_000_000 } as const;
const quick = { embedded: 1_000_000, influx: 300_000 } as const;
const devices = 10;
const stepMs = 1000;
const firstMs = Date.UTC(2020, 0, 1);
const targets = { import: 150_000, export: 300_000, memory: 200, ofBare: 0.5 } as const;
const sampleMs = 50;

/**
 * Imports a file of points with rows in time order and exports it again: points a second, memory over the idle
 * process at a tenth of the points and at all of them, and how long other requests wait during that time.
 */
export async function benchHistoryIO(options: BenchOptions): Promise<Figure[]> {
  const sizes = options.quick ? quick : full;
  const figures: Figure[] = [];
  if (wants(options, "embedded"))
    figures.push(...(await measureAll("embedded", { dir: options.dir }, sizes.embedded)));
  if (!wants(options, "influx")) return figures;
  const { url, token, org, bucket, close } = await startInflux();
  const influx = { url, token, org, bucket };
  progress("history-io: bare line protocol");
  const bare = {
    name: "bare line protocol",
    value: await bareLineRate(influx, devices, options.seconds),
    unit: "points/s",
  };
  figures.push(bare, ...(await measureAll("influx", { dir: options.dir, influx }, sizes.influx, bare.name)));
  await close();
  return figures;
}

async function measureAll(
  engine: string,
  where: TidemarkOptions,
  count: number,
  baseline?: string,
): Promise<Figure[]> {
  const dir = await mkdtemp(join(where.dir, "history-"));
  const service = await startTidemark(where);
  const fleet = await provision(service.api(), devices);
  const figures: Figure[] = [];
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const idle = rssMB(service.pid());
  for (const size of [count / 10, count]) {
    const path = join(dir, `points-${size}.csv`);
    progress(`history-io ${engine}: a file of ${size} points`);
    await writePoints(path, fleet, size);
    const target =
      baseline === undefined ? { "target points/s": targets.import } : { "target ratio": targets.ofBare };
    const based = baseline === undefined || size !== count ? {} : { baseline };
    figures.push({
      ...(await watched(
        service,
        idle,
        `${engine} import of ${size}`,
        size,
        () => upload(service, path),
        target,
      )),
      ...based,
    });
    await rm(path);
  }
  const ids = fleet.devices.map((one) => one.deviceID).join();
  const detail = engine === "embedded" ? { "target points/s": targets.export } : {};
  for (const [form, headers] of Object.entries(exportForms)) {
    // What the imports, or the form before, left of garbage is not this one's.
    await service.restart();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const fresh = rssMB(service.pid());
    for (const size of [count / 10, count]) {
      const stopMs = firstMs + Math.ceil(size / devices / points.length) * stepMs;
      const path = `/api/v1/original_data?deviceID=${ids}&${form}&startTime=${firstMs}&endTime=${stopMs}`;
      const run = () => download(service, path, headers);
      figures.push(await watched(service, fresh, `${engine} export ${form} of ${size}`, size, run, detail));
    }
  }
  await service.close();
  await rm(dir, { recursive: true });
  return figures;
}

const exportForms = {
  "layout=long": { Accept: "text/csv" },
  "layout=long&gzip": { Accept: "text/csv", "Accept-Encoding": "gzip" },
  "layout=wide": { Accept: "text/csv" },
} as const;

async function watched(
  service: Tidemark,
  idle: number,
  name: string,
  count: number,
  run: () => Promise<Record<string, number>>,
  detail: Record<string, number>,
): Promise<Figure> {
  progress(`history-io: ${name}`);
  let peak = 0;
  const waits: number[] = [];
  let over = false;
  const bystander = (async () => {
    while (!over) {
      const asked = performance.now();
      await service.api().get("/api/v1/time");
      waits.push(performance.now() - asked);
      peak = Math.max(peak, rssMB(service.pid()));
      await new Promise((resolve) => setTimeout(resolve, sampleMs));
    }
  })();
  const started = performance.now();
  const cpuBefore = cpuSeconds(service.pid());
  const seen = await run();
  const cpu = cpuSeconds(service.pid()) - cpuBefore;
  const seconds = (performance.now() - started) / 1000;
  over = true;
  await bystander;
  return {
    name,
    value: count / (seen.seconds ?? seconds),
    unit: "points/s",
    detail: {
      ...detail,
      ...seen,
      "cpu µs/point": (cpu * 1e6) / count,
      "MB over idle": peak - idle,
      "target MB": targets.memory,
      "others wait ms p99": percentileOf(waits, 0.99),
      "worst ms": Math.max(...waits),
    },
  };
}

/** Rows in time order: a value of each data point of each device every second. */
async function writePoints(path: string, { devices: some }: FleetOfDevices, count: number): Promise<void> {
  const file = createWriteStream(path);
  file.write("deviceID,dataPointID,time,value\n");
  const perStep = some.length * points.length;
  let text = "";
  for (let step = 0; step * perStep < count; step++) {
    const time = new Date(firstMs + step * stepMs).toISOString();
    for (const { deviceID } of some) {
      for (const [i, point] of points.entries()) {
        text += `${deviceID},${point},${time},${20 * (i + 1) + (step % 1000) / 100}\n`;
      }
    }
    if (text.length < 1 << 20) continue;
    if (!file.write(text)) await once(file, "drain");
    text = "";
  }
  file.end(text);
  await once(file, "close");
}

/** Sends a file and waits for its task; `seconds` from the first byte to the end, the upload included. */
async function upload(service: Tidemark, path: string): Promise<Record<string, number>> {
  const { size } = await stat(path);
  const started = performance.now();
  const { status, text } = await call(
    service,
    "POST",
    "/api/v1/original_data",
    { "Content-Type": "text/csv" },
    path,
  );
  if (status !== 202) throw new Error(`cannot import: ${status} ${text}`);
  const uploaded = (performance.now() - started) / 1000;
  const { statusUrl } = JSON.parse(text) as { statusUrl: string };
  for (;;) {
    const task = await service.api().get<{ state: string; msg: { import_failure_num?: number } }>(statusUrl);
    if (task.state === "FAILURE" || (task.msg?.import_failure_num ?? 0) > 0) {
      throw new Error(`cannot import: ${JSON.stringify(task)}`);
    }
    if (task.state === "SUCCESS") break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const seconds = (performance.now() - started) / 1000;
  return { seconds, "upload s": uploaded, "file MB": size / 1e6 };
}

async function download(
  service: Tidemark,
  path: string,
  headers: Record<string, string>,
): Promise<Record<string, number>> {
  const { status, bytes } = await call(service, "GET", path, headers);
  if (status !== 200) throw new Error(`cannot export: ${status}`);
  return { "MB out": bytes / 1e6 };
}

function call(
  service: Tidemark,
  method: string,
  path: string,
  headers: Record<string, string>,
  file?: string,
): Promise<{ status: number; text: string; bytes: number }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      new URL(path, service.http()),
      { method, headers: { ...headers, Authorization: service.authorization } },
      (incoming) => {
        let bytes = 0;
        let text = "";
        incoming.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
          if (text.length < 2000) text += chunk.toString("latin1");
        });
        incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, text, bytes }));
        incoming.on("error", reject);
      },
    );
    outgoing.on("error", reject);
    if (file === undefined) outgoing.end();
    else createReadStream(file, { highWaterMark: 1 << 18 }).pipe(outgoing);
  });
}
