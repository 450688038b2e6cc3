/** Files of history through the real process: killed in the middle, by command with and without it, and retention. */
import { spawn } from "node:child_process";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { program, programEnvironment } from "../program.js";
import { assert, influxSuite, openTempDir, suite, until } from "../suite.js";
import type { Rec } from "../world.js";
import { createPublisher } from "./publisher.js";
import { provision, startService, valuesOf } from "./support.js";

const firstSecond = Math.floor(Date.UTC(2022, 0, 1) / 1000);

/** Runs `tidemark`. */
async function command(
  dir: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
) {
  const child = spawn(process.execPath, [program, ...args], {
    env: { DATA_DIR: dir, ...programEnvironment, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk) => {
      texts[name] += String(chunk);
    });
  }
  const code = await new Promise((resolve) => child.once("close", resolve));
  return { code, ...texts };
}

const rowsOf = (device: Rec, count: number, first = firstSecond) =>
  ["deviceID,dataPointID,time,value"]
    .concat(Array.from({ length: count }, (_, i) => `${device.deviceID},n,${first + i},${i}`))
    .join("\n");

function defineFlow(
  open: () => Promise<Readonly<Record<string, string>>>,
  define: (name: string, run: () => Promise<void>) => void,
) {
  define("an import that is killed goes on, and ends with every point once", async () => {
    const environment = await open();
    const dir = await openTempDir();
    let service = await startService(dir.path, environment);
    const [device] = (await provision(service, 1)) as [Rec];
    const count = 200_000;
    const path = join(dir.path, "rows.csv");
    await writeFile(path, `${rowsOf(device, count)}\nbad row`);
    const status = await upload(dir.path, path);
    const state = async () => (await service.call("GET", status)).body as { state?: unknown; msg?: unknown };
    for (let kills = 0; kills < 2; kills++) {
      await until(async () => (await state()).state !== "PENDING", { what: "the import to begin" });
      await new Promise((resolve) => setTimeout(resolve, 300));
      await service.kill();
      service = await startService(dir.path, environment);
    }
    await until(async () => /SUCCESS|FAILURE/.test(String((await state()).state)), {
      what: "the import to end",
      timeoutMs: 120_000,
    });
    const end = await state();
    assert.is(end.state, "SUCCESS", JSON.stringify(end));
    const msg = end.msg as { import_failure_num: number; errors: object[] };
    assert.equal([msg.import_failure_num, msg.errors.length], [1, 1]);
    const left = await readdir(join(dir.path, "tasks"));
    assert.ok(
      left.every((name) => name.startsWith("import-errors-")),
      left.join(),
    );
    assert.equal((await valuesOf(service, device)).length, 100_000);
    assert.is((await exported(dir.path, device)).length, count + 2);
    await service.stop();
    await dir.close();
  });

  define("commands work through the service and without it", async () => {
    const environment = await open();
    const dir = await openTempDir();
    const service = await startService(dir.path, environment);
    const [one, two] = (await provision(service, 2)) as [Rec, Rec];
    const file = join(dir.path, "in.csv.gz");
    await writeFile(file, gzipSync(rowsOf(one, 5000)));
    const stored = await command(dir.path, ["import", file], environment);
    assert.is(stored.code, 0, stored.stderr);
    assert.equal(JSON.parse(stored.stdout), { import_success_num: 5000, import_failure_num: 0, errors: [] });
    const out = join(dir.path, "out.ndjson");
    const range = ["--start", "2022-01-01T00:00:00Z", "--end", "2022-01-01T00:10:00Z"];
    const written = await command(
      dir.path,
      ["export", String(one.deviceID), ...range, "--out", out],
      environment,
    );
    assert.is(written.code, 0, written.stderr);
    const rows = (await readFile(out, "utf8")).trim().split("\n");
    assert.is(rows.length, 600);
    const wrong = await command(dir.path, ["export", "nobody"], environment);
    assert.is(wrong.code, 1);
    assert.match(wrong.stderr, /cannot find the device/);
    await service.stop();

    await writeFile(out, rows.join("\n").replaceAll(String(one.deviceID), String(two.deviceID)));
    const alone = await command(dir.path, ["import", out], environment);
    assert.is(alone.code, 0, alone.stderr);
    assert.is((JSON.parse(alone.stdout) as { import_success_num: number }).import_success_num, 600);
    const text = await command(dir.path, ["export", String(two.deviceID), "--layout", "wide"], environment);
    assert.is(text.stdout.split("\r\n").length, 602, text.stderr);
    await dir.close();
  });

  define("points before the retention go, and new ones keep coming", async () => {
    const environment = await open();
    const dir = await openTempDir();
    let service = await startService(dir.path, environment);
    const [device, other] = (await provision(service, 2)) as [Rec, Rec];
    const recent = Math.floor(Date.now() / 1000) - 3 * 86_400;
    const old = recent - 60 * 86_400;
    const file = join(dir.path, "in.csv");
    await writeFile(
      file,
      `${rowsOf(device, 3000, old)}\n${rowsOf(other, 1000, old)}\n${rowsOf(device, 500, recent)}`,
    );
    const status = await upload(dir.path, file);
    const state = async () => (await service.call("GET", status)).body.state;
    await until(async () => (await state()) === "SUCCESS", { what: "the import to end", timeoutMs: 60_000 });
    assert.is((await valuesOf(service, device)).length, 3500);
    await service.stop();
    service = await startService(dir.path, { ...environment, POINT_RETENTION_DAYS: "30" });
    const payload = (n: number) => JSON.stringify({ n });
    const publisher = createPublisher({
      device: other,
      qos: 1,
      clientID: "meanwhile",
      payload,
      mostInFlight: 10,
      pauseMs: 10,
    });
    const publishing = publisher.run(service.mqtt);
    const pauses = watchPauses(() => publisher.acknowledged.size);
    await until(async () => (await valuesOf(service, device)).length === 500, {
      what: "the old points to go",
      timeoutMs: 60_000,
    });
    await until(() => publisher.acknowledged.size >= 200, {
      what: "messages to be taken",
      timeoutMs: 60_000,
    });
    assert.ok(pauses.stop() < 15_000, `nothing was acknowledged for ${pauses.stop()} ms`);
    await publisher.stop();
    await publishing;
    await service.settled();
    const values = await valuesOf(service, other);
    assert.equal(new Set(values), publisher.acknowledged, "the new ones and no old one");
    await service.stop();
    await dir.close();
  });
}

/** Milliseconds of the longest time in which `count` did not grow. */
function watchPauses(count: () => number): { stop(): number } {
  let [seen, grewAt, longest] = [count(), performance.now(), 0];
  const look = () => {
    longest = Math.max(longest, performance.now() - grewAt);
    if (count() > seen) [seen, grewAt] = [count(), performance.now()];
  };
  const timer = setInterval(look, 50);
  return {
    stop: () => {
      clearInterval(timer);
      return Math.round(longest);
    },
  };
}

/** Where the service of a folder answers about points, and as whom to ask. */
async function originalData(dir: string): Promise<{ url: string; headers: { Authorization: string } }> {
  const read = async (name: string) =>
    JSON.parse(await readFile(join(dir, name), "utf8")) as { http: string; apiKey: string };
  const { http } = await read("service.json");
  const { apiKey } = await read("first-start.json");
  return { url: `${http}/api/v1/original_data`, headers: { Authorization: `Bearer ${apiKey}` } };
}

async function upload(dir: string, path: string): Promise<string> {
  const { url, headers } = await originalData(dir);
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "Content-Type": "text/csv" },
    body: await readFile(path),
  });
  const text = await response.text();
  assert.is(response.status, 202, text);
  return (JSON.parse(text) as { statusUrl: string }).statusUrl;
}

async function exported(dir: string, device: Rec): Promise<string[]> {
  const { url, headers } = await originalData(dir);
  const asked = { headers: { ...headers, Accept: "text/csv" } };
  return (await (await fetch(`${url}?deviceID=${device.deviceID}`, asked)).text()).split("\r\n");
}

suite("history through the process, embedded engine", (test) => {
  defineFlow(async () => ({}), test);
});

influxSuite("history through the process, InfluxDB", (test, influx) => {
  let buckets = 0;
  const open = async () => {
    const { url, token, org, bucket } = await influx();
    // The retention of one test would take the points of another.
    return { INFLUX_URL: url, INFLUX_TOKEN: token, INFLUX_ORG: org, INFLUX_BUCKET: `${bucket}-${++buckets}` };
  };
  defineFlow(open, test);
});
