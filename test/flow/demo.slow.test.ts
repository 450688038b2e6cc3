import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient, type DemoClient } from "../../src/demo/client.js";
import { publishYear, settled } from "../../src/demo/edge-node.js";
import { type DemoService, startDemoService } from "../../src/demo/service.js";
import { coldAndStill, createStation, type Station } from "../../src/demo/station.js";
import { readYear, yearFile } from "../../src/demo/weather.js";
import { assert, suite, until } from "../suite.js";

interface MetricAnswer {
  readonly metricName: string;
  readonly metricData: { readonly time: readonly string[]; readonly value: readonly (number | null)[] };
}

/** Straight from the file's text: figures by the first so many characters of the date ("2010-01" is a month). */
function figuresFromFile(dateCharacters: number): Map<string, { mean: number; min: number; hours: number }> {
  const temperatures = new Map<string, number[]>();
  for (const line of readFileSync(yearFile(), "utf8").trim().split("\n").slice(1)) {
    const [date = "", , temperature] = line.split(",");
    const key = date.slice(0, dateCharacters);
    temperatures.set(key, [...(temperatures.get(key) ?? []), Number(temperature)]);
  }
  return new Map(
    [...temperatures].map(([key, all]) => [
      key,
      { mean: all.reduce((sum, one) => sum + one, 0) / all.length, min: Math.min(...all), hours: all.length },
    ]),
  );
}

function assertNear(actual: number | null | undefined, expected: number | undefined, where: string): void {
  const off = Math.abs((actual ?? Number.NaN) - (expected ?? Number.NaN));
  assert.ok(off <= 1e-9 * Math.max(1, Math.abs(expected ?? 0)), `${where}: ${actual}, not ${expected}`);
}

suite("demo: a year of weather through the service", (test) => {
  let service: DemoService;
  let station: Station;
  let api: DemoClient;

  async function windows(metric: string, unit: string): Promise<MetricAnswer["metricData"]> {
    const range = "startTime=2010-01-01T00:00:00Z&endTime=2011-01-01T00:00:00Z";
    const path = `/api/v1/metrics_data?deviceID=${station.deviceID}&time_unit=${unit}&${range}`;
    const [item] = await api.get<MetricAnswer[]>(`${path}&metricIntID=${station.metrics.get(metric)}`);
    assert.is(item?.metricName, metric);
    return item?.metricData ?? { time: [], value: [] };
  }

  test.before(async () => {
    service = await startDemoService({});
    api = createClient(service.http, service.key);
    station = await createStation(api);
    await publishYear(service.mqtt, station, readYear(), () => undefined);
    await settled(api);
  });
  test.after(async () => {
    await service.close();
  });

  test("runs beside another service: it takes none of the usual ports", async () => {
    const log = readFileSync(join(service.own?.dir ?? "", "service.log"), "utf8").split("\n");
    const told = JSON.parse(log.find((line) => line.includes('"msg":"listening"')) ?? "{}");
    const {
      time: _,
      level: __,
      msg: ___,
      console: ____,
      ...listeners
    } = told as Record<string, string | null>;
    const off = Object.keys(listeners).filter((name) => listeners[name] === null);
    assert.equal(off.sort(), ["https", "mqtts", "mqttss", "ws", "wss"]);
    assert.equal([listeners.http, listeners.mqtt], [service.http, service.mqtt]);
    assert.is(Object.keys(listeners).length, off.length + 2);
  });

  const units = [
    { unit: "day", dateCharacters: 10, count: 365, labelRest: " 00:00:00" },
    { unit: "month", dateCharacters: 7, count: 12, labelRest: "-01 00:00:00" },
  ] as const;
  for (const { unit, dateCharacters, count, labelRest } of units) {
    test(`means, minima and counts of every ${unit} are those of the file`, async () => {
      const expected = figuresFromFile(dateCharacters);
      const labels = [...expected.keys()].map((key) => `${key}${labelRest}`);
      assert.is(labels.length, count);
      const [mean, fahrenheit, min, hours] = await Promise.all(
        ["mean °C", "mean °F", "min °C", "hours"].map((metric) => windows(metric, unit)),
      );
      for (const data of [mean, fahrenheit, min, hours]) assert.equal(data?.time, labels);
      for (const [i, [key, figures]] of [...expected].entries()) {
        assertNear(mean?.value[i], figures.mean, `mean °C of ${key}`);
        assertNear(fahrenheit?.value[i], figures.mean * 1.8 + 32, `mean °F of ${key}`);
        assert.is(min?.value[i], figures.min, `min °C of ${key}`);
        assert.is(hours?.value[i], figures.hours, `hours of ${key}`);
      }
    });
  }

  test("the alert rule has found every time when it was cold and still, and each of its hours", async () => {
    const [head = "", ...lines] = readFileSync(yearFile(), "utf8").trim().split("\n");
    const [t, w] = ["temperature", "wind"].map((name) => head.split(",").indexOf(name)) as [number, number];
    const spells: number[] = [];
    let isOn = false;
    for (const cells of lines.map((line) => line.split(",").map(Number))) {
      const was = isOn;
      isOn = (cells[t] ?? 0) < coldAndStill.below && (cells[w] ?? 0) < coldAndStill.windBelow;
      if (isOn && was) spells.push((spells.pop() ?? 0) + 1);
      else if (isOn) spells.push(1);
    }
    const alerts = await Promise.all(
      ["history", "current"].map((list) =>
        api.get<{ items: { alertTimes: number; startTime: string }[] }>(
          `/api/v1/${list}_alerts?deviceID=${station.deviceID}&_limit=1000`,
        ),
      ),
    );
    const found = alerts.flatMap(({ items }) => items).sort((a, b) => (a.startTime < b.startTime ? -1 : 1));
    assert.ok(spells.length > 10);
    assert.equal(
      found.map(({ alertTimes }) => alertTimes),
      spells,
    );
  });

  test("the raw points are the file's, every one", async () => {
    const answer = await api.get<{ originalData: { time: number[]; value: number[] } }[]>(
      `/api/v1/original_data?deviceID=${station.deviceID}&startTime=2010-01-01T00:00:00Z&timeFormat=ms`,
    );
    const [temperature] = answer;
    const lines = readFileSync(yearFile(), "utf8").trim().split("\n").slice(1);
    assert.equal(
      temperature?.originalData.time.map((time, i) => `${time} ${temperature.originalData.value[i]}`),
      lines
        .map((line) => line.split(","))
        .map(([date, , value]) => `${Date.parse(`${date}Z`)} ${Number(value)}`),
    );
  });
});

/** Waits until the program has ended; what it has started may go on. */
async function runDemo(args: readonly string[]): Promise<{ code: unknown; output: string }> {
  const program = fileURLToPath(new URL("../../src/demo/demo.js", import.meta.url));
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += String(chunk);
    });
  }
  const code = await new Promise((resolve) => child.once("close", resolve));
  return { code, output };
}

suite("demo: the program", (test) => {
  test("ends well, asks what it prints, and leaves nothing running", async () => {
    const { code, output } = await runDemo([]);
    assert.is(code, 0, output);
    assert.ok(output.includes("8,759 of 8,759 hours acknowledged"), output);
    assert.is(output.match(/^ {2}curl -s /gm)?.length, 10);
    assert.match(output, /26,277 points of 8,759 rows stored in/);
    assert.match(output, /26,277 points, the same from the file as from the device/);
    // July, the warmest month but one, by the file's own figures.
    const july = figuresFromFile(7).get("2010-07");
    const row = output
      .split("\n")
      .find((line) => line.includes("2010-07-01 00:00:00") && line.endsWith("744"));
    assert.ok(row?.includes(` ${july?.mean.toFixed(2)} `), `${row}`);
    const http = /started at (\S+)/.exec(output)?.[1] ?? "";
    assert.is(await fetch(`${http}/healthz`).catch(() => "gone"), "gone");
  });

  test("with --keep a fleet goes on sending, its dashboards are there, and it ends as it says", async () => {
    const { code, output } = await runDemo(["--keep"]);
    const stop = /kill (\d+) (\d+) && sleep 2 && rm -r (\S+)$/m.exec(output);
    const [, service = "0", simulator = "0", folder = ""] = stop ?? [];
    try {
      assert.is(code, 0, output);
      await checkKept(output);
    } finally {
      for (const pid of [service, simulator]) if (Number(pid) > 0) process.kill(Number(pid), "SIGTERM");
    }
    const areGone = () => ![service, simulator].some((pid) => isRunning(Number(pid)));
    await until(areGone, { what: "both to end" });
    await rm(folder, { recursive: true });
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The fleet is online and sends; a user who logs in as the output says finds the dashboards at the links. */
async function checkKept(output: string): Promise<void> {
  const found = (pattern: RegExp): string => {
    const text = pattern.exec(output)?.[1] ?? "";
    assert.ok(text, output);
    return text;
  };
  assert.match(output, /^20 devices send .* was told to pump 55 m³\/h and answered after \d+ ms\.$/m);
  const http = found(/^ {2}API +(\S+)$/m);
  const client = createClient(http, found(/^ {2}KEY=(\S+)$/m));
  const overview = () =>
    client.get<{ devices: { online: number }; rates: { points: number[] } }>("/api/v1/overview");
  await until(async () => (await overview()).devices.online >= 20, { what: "the fleet to be online" });
  // Longer than the three seconds in which each device sends, and shorter than what came before.
  const isSending = async () => {
    const { points } = (await overview()).rates;
    return points.slice(-6, -1).every((count) => count > 0);
  };
  await until(isSending, { what: "points in every second" });
  const login = await fetch(`${http}/api/v1/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ username: "admin", password: found(/^ {2}log in +admin, password (\S+)$/m) }),
  });
  const user = createClient(http, ((await login.json()) as { token: string }).token);
  for (const [link, panels] of [
    ["weather", 9],
    ["fleet", 10],
  ] as const) {
    const id = found(new RegExp(`^  ${link} +${http}/console/dashboards/(\\d+)$`, "m"));
    const { document } = await user.get<{ document: { panels: unknown[] } }>(`/api/v1/dashboards/${id}`);
    assert.is(document.panels.length, panels);
  }
}
