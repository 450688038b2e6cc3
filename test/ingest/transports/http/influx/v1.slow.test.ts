/** What writes to InfluxDB 1 writes here: its client for Python, and requests as old devices send them. */
import { execFile, spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { makeDataPoint, makeDevice, makeProduct } from "../../../../factories.js";
import { openService } from "../../../../flow/support.js";
import { modulesMissing } from "../../../../programs.js";
import { assert, suite, withTempDir } from "../../../../suite.js";
import { type Rec, worldSuite } from "../../../../world.js";
import { eventsOf } from "../../../support.js";

/** The compiled test stands below dist; the sources beside package.json. */
const script = join(
  dirname(fileURLToPath(import.meta.url)),
  "../../../../../../test/ingest/transports/http/influx/write_v1.py",
);
const python = process.env.PYTHON_WITH_PEERS ?? "python3";
const hasClient = process.env.CI === "true" || spawnSync(python, ["-c", "import influxdb"]).status === 0;

worldSuite("HTTP, InfluxDB 1", (test, world) => {
  let device: Rec;
  test.before.each(async () => {
    const product = await makeProduct(world, { cloudProtocol: 5 });
    await makeDataPoint(world, product, { dataPointID: "usage" });
    device = await makeDevice(world, product);
  });
  const write = (
    query: string,
    body = "cpu usage=1 1767225600",
    headers: Readonly<Record<string, string>> = {},
  ) => fetch(`${world.http}/write?db=plant&${query}`, { method: "POST", body, headers });
  const named = () => `u=${device.deviceUsername}&p=${device.token}`;
  const payloads = async () => (await eventsOf(world, device)).map(({ payload }) => payload).reverse();
  const errorOf = async (reply: Response) => {
    const body = (await reply.json()) as object;
    assert.equal(Object.keys(body), ["error"]);
    return String((body as { error: unknown }).error);
  };

  test("credentials by the query, Basic or Token; 204 with a version", async () => {
    const basic = Buffer.from(`${device.deviceUsername}:${device.token}`).toString("base64");
    for (const reply of [
      await write(`${named()}&precision=s`),
      await write("precision=s", undefined, { Authorization: `Basic ${basic}` }),
      await write("precision=s", undefined, {
        Authorization: `Token ${device.deviceUsername}:${device.token}`,
      }),
      await write(`${named()}&precision=s`, undefined, { Authorization: "Basic bm9ib2R5Og==" }),
    ]) {
      assert.equal([reply.status, await reply.text()], [204, ""]);
      assert.match(reply.headers.get("x-influxdb-version") ?? "", /^1\./);
    }
    assert.is((await payloads()).length, 4);
    for (const query of ["", "u=nobody&p=x", `u=${device.deviceUsername}&p=wrong`, "u=&p="]) {
      const reply = await write(query);
      assert.is(reply.status, 401, query);
      assert.match(await errorOf(reply), /user name or the token/);
    }
    const other = await fetch(`${world.http}/api/v2/write?${named()}`, {
      method: "POST",
      body: "cpu usage=1",
    });
    assert.is(other.status, 401, "the query of other paths names nobody");
  });

  test("each precision of InfluxDB 1, and none that it has not", async () => {
    const second = 1767225600n;
    for (const [precision, time] of Object.entries({
      n: second * 1_000_000_000n,
      ns: second * 1_000_000_000n,
      "": second * 1_000_000_000n,
      u: second * 1_000_000n,
      "%C2%B5": second * 1_000_000n,
      ms: second * 1000n,
      s: second,
      m: second / 60n,
      h: second / 3600n,
    })) {
      const reply = await write(`${named()}&precision=${precision}`, `cpu usage=1 ${time}`);
      assert.is(reply.status, 204, precision);
    }
    assert.equal([...new Set(await payloads())], ['{"time":1767225600000000,"usage":1}']);
    const wrong = await write(`${named()}&precision=d`);
    assert.equal([wrong.status, await errorOf(wrong)], [400, "precision may be n, ns, u, us, ms, s, m or h"]);
    assert.equal([wrong.headers.get("x-influxdb-error")], ["precision may be n, ns, u, us, ms, s, m or h"]);
  });

  test("what clients ask before they write: /ping, CREATE DATABASE by GET, query and form", async () => {
    assert.is((await fetch(`${world.http}/ping`)).status, 204);
    assert.is((await fetch(`${world.http}/ping`, { method: "HEAD" })).status, 204);
    const verbose = await fetch(`${world.http}/ping?verbose=true`);
    assert.is(verbose.status, 200);
    assert.match(((await verbose.json()) as { version: string }).version, /^1\./);
    const form = new URLSearchParams({ q: 'CREATE DATABASE "telegraf"' });
    for (const reply of [
      await fetch(`${world.http}/query?${named()}&${form}`),
      await fetch(`${world.http}/query?${named()}&${form}`, { method: "POST" }),
      await fetch(`${world.http}/query?${named()}`, { method: "POST", body: form }),
    ]) {
      assert.is(reply.status, 200);
      assert.equal(await reply.json(), { results: [{ statement_id: 0 }] });
    }
    for (const q of ["select * from cpu", "create database a; drop database b", ""]) {
      const reply = await fetch(`${world.http}/query?${named()}&${new URLSearchParams({ q })}`);
      assert.is(reply.status, 400, q);
      assert.match(await errorOf(reply), /read by the API/);
    }
    assert.is((await fetch(`${world.http}/query?${form}`)).status, 401);
    const wrong = await fetch(`${world.http}/write`);
    assert.equal([wrong.status, wrong.headers.get("allow")], [405, "POST"]);
    await errorOf(wrong);
  });

  const title = "its client for Python writes unchanged, and reads our errors";
  const body = async () => {
    const { port } = new URL(world.http);
    const args = [script, port, String(device.deviceUsername), String(device.token)];
    const { stdout } = await promisify(execFile)(python, args);
    const { version, ...refusals } = JSON.parse(stdout) as Record<string, unknown>;
    assert.match(String(version), /^1\./);
    assert.equal(refusals, {
      "wrong token": [401, "the user name or the token of the device is wrong"],
      "bad line": [400, (refusals["bad line"] as [number, string])[1]],
      select: [400, "values are read by the API, not by queries: see /reference"],
    });
    assert.match(JSON.stringify(refusals["bad line"]), /partial write: 1 of 2 lines/);
    const times = [0, 1, 2, 3, 60, 0, 100, 200, 300].map((after) => 1767225600 + after);
    const told = (await payloads()).map((text) => {
      const { time, TimeStamp = time } = JSON.parse(String(text)) as Record<string, number>;
      return Number(TimeStamp) / 1_000_000;
    });
    assert.equal(told, times);
  };
  if (hasClient) test(title, body);
  else test.skip(title, modulesMissing("influxdb"));
});

suite("credentials in a query", (test) => {
  test("stand in no line of the log, whatever becomes of the request", () =>
    withTempDir(async (dir) => {
      const service = await openService(dir, { LOG_LEVEL: "debug" });
      const secret = "the-password-in-the-url";
      for (const path of ["/write", "/query", "/ping", "/write/", "/api/v1/devices", "/nowhere"])
        for (const method of ["GET", "POST", "PUT"])
          await service.call(method, `${path}?u=nobody&p=${secret}&q=select`);
      await service.stop();
      assert.ok(service.logged.length > 0);
      assert.not.match(JSON.stringify(service.logged), secret);
    }));
});
