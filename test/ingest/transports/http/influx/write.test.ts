/** What writes to InfluxDB 2 writes here: its own client, and line protocol by itself. */
import { isDeepStrictEqual } from "node:util";
import { gzipSync } from "node:zlib";
import { InfluxDB, Point, setLogger } from "@influxdata/influxdb-client";
import { makeDataPoint, makeDevice, makeGateway, makeProduct } from "../../../../factories.js";
import { assert, until } from "../../../../suite.js";
import { type Rec, worldSuite } from "../../../../world.js";
import { eventsOf } from "../../../support.js";
import { asDevice, type Headings } from "../support.js";

worldSuite("HTTP, InfluxDB line protocol", (test, world) => {
  const names = new Map<number, string>();
  let product: Rec;
  let device: Rec;
  test.before(async () => {
    product = await makeProduct(world, { cloudProtocol: 5 });
    for (const dataPointID of ["usage", "usage_cpu1", "disk_usage", "name"]) {
      const pointDataType = dataPointID === "name" ? 3 : 1;
      const point = await makeDataPoint(world, product, { dataPointID, pointDataType });
      names.set(point.id, dataPointID);
    }
  });
  test.before.each(async () => {
    device = await makeDevice(world, product);
  });
  const tokenOf = (one: Rec) => `${one.deviceUsername}:${one.token}`;
  const write = (body: string, query = "precision=s", as = device, headers: Headings = {}) =>
    asDevice(world.http, as, "POST", `/api/v2/write?org=o&bucket=b&${query}`, body, {
      Authorization: `Token ${tokenOf(as)}`,
      ...headers,
    });
  const events = async (of = device) =>
    (await eventsOf(world, of)).map(({ topic, payload }) => [topic, payload]).reverse();
  /** By data point, those that have values. */
  async function seriesOf(of: Rec): Promise<Record<string, unknown>> {
    await world.settled();
    const url = `/api/v1/original_data?deviceIntID=${of.id}&startTime=1767225600000&endTime=1769904000000&limit=1000`;
    const { list } = await world.call("GET", url);
    const valued = list.map(({ dataPointIntID, originalData }) => {
      const { value } = originalData as { readonly value: readonly unknown[] };
      return [names.get(dataPointIntID as number) ?? "", value] as const;
    });
    return Object.fromEntries(valued.filter(([, value]) => value.length > 0));
  }
  /** An entry of an envelope becomes a message of its device a little later. */
  async function arrives(of: Rec, wanted: object): Promise<void> {
    await until(async () => isDeepStrictEqual(await seriesOf(of), wanted), { what: JSON.stringify(wanted) });
  }
  const at = Date.UTC(2026, 0, 5) / 1000;

  test("a line is a message: its measurement the topic, its fields the data points", async () => {
    const reply = await write(`cpu,host=edge usage=1.5,name="a b" ${at}\ncpu usage=2 ${at + 1}`);
    assert.equal([reply.status, reply.text], [204, ""]);
    assert.equal(await events(), [
      ["cpu", `{"time":${at}000000,"usage":1.5,"name":"a b"}`],
      ["cpu", `{"time":${at + 1}000000,"usage":2}`],
    ]);
    assert.equal(await seriesOf(device), { usage: [1.5, 2], name: ["a b"] });
  });

  test("tags choose among data points that the product has; points that would overwrite others are reported", async () => {
    const reply = await write(
      [
        `cpu,cpu=cpu0 usage=1 ${at}`,
        `cpu,cpu=cpu1 usage=2 ${at}`,
        `disk,path=/ usage=3 ${at}`,
        `cpu,cpu=cpu2 usage=4 ${at}`,
      ].join("\n"),
    );
    assert.is(reply.status, 400);
    const { code, message } = JSON.parse(reply.text) as { code: string; message: string };
    assert.is(code, "invalid");
    assert.match(message, /^partial write: 1 of 4 lines were refused: line 4: has a value of usage/);
    assert.equal(await seriesOf(device), { usage: [1], usage_cpu1: [2], disk_usage: [3] });
  });

  test("a gateway writes for its children by the tag device", async () => {
    const gateway = await makeGateway(world, product, { authType: 1 });
    const child = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const below = await makeDevice(world, product, { upLinkSystem: 3, parentDevice: child.id });
    const lines = [child, below].map((one) => `cpu,device=${one.deviceID} usage=5 ${at}`);
    const reply = await write(
      [...lines, `cpu,device=${device.deviceID} usage=6 ${at}`].join("\n"),
      undefined,
      gateway,
    );
    assert.is(reply.status, 400);
    assert.match(reply.text, /1 of 3 lines were refused: line 3: names the device/);
    await arrives(child, { usage: [5] });
    await arrives(below, { usage: [5] });
    assert.equal(await events(child), [["cpu", `{"TimeStamp":${at}000000,"usage":5}`]]);
    assert.equal(await seriesOf(device), {});
    assert.is(
      (await write(`cpu,device=ESP8266 usage=7 ${at}`)).status,
      204,
      "of a device it is a tag like others",
    );
    assert.equal(await seriesOf(device), { usage: [7] });
  });

  test("InfluxDB's client writes unchanged, and reads our errors", async () => {
    const api = new InfluxDB({ url: world.http, token: tokenOf(device) }).getWriteApi("org", "bucket", "ms", {
      gzipThreshold: 10,
    });
    for (let n = 0; n < 900; n++)
      api.writePoint(
        new Point("cpu")
          .tag("host", "h")
          .floatField("usage", n)
          .timestamp(at * 1000 + n),
      );
    await api.close();
    const { usage } = await seriesOf(device);
    assert.equal(
      usage,
      Array.from({ length: 900 }, (_, n) => n),
    );
    const before = setLogger({ error: () => undefined, warn: () => undefined });
    const wrong = new InfluxDB({ url: world.http, token: "nobody:x" }).getWriteApi("org", "bucket", "ms", {
      maxRetries: 0,
      writeFailed: () => undefined,
    });
    wrong.writePoint(new Point("cpu").floatField("usage", 1));
    const failed = await wrong.close().then(
      () => null,
      (error: { statusCode?: number; code?: string }) => error,
    );
    setLogger(before);
    assert.is(failed?.statusCode, 401);
  });

  test("a timestamp before 2000 refuses its line, whatever the precision, and is stored nowhere", async () => {
    const before = await events();
    for (const [precision, time] of [
      ["s", "188"],
      ["s", "946684799"],
      ["ms", "1700000000"],
      ["us", "1700000000000"],
      ["ns", "1700000000"],
      ["ns", "-1700000000000000000"],
    ] as const) {
      const reply = await write(`cpu usage=1 ${time}`, `precision=${precision}`);
      assert.is(reply.status, 400, `${precision} ${time}`);
      assert.match(reply.text, /line 1: has a timestamp before 2000-01-01/);
    }
    assert.is((await events()).length, before.length);
    assert.is((await write("cpu usage=1 946684800")).status, 204);
    assert.is((await events()).length, before.length + 1);
  });

  test("errors have InfluxDB's form; what can be read of a request is kept", async () => {
    const reply = await write(`cpu usage=1 ${at}\nnonsense\ncpu usage=x\ncpu time=1\na+b c=1`);
    assert.is(reply.status, 400);
    assert.match(reply.text, /4 of 5 lines were refused: line 2: .*; line 3: .*; line 4: .*; line 5: /);
    assert.is((await events()).length, 1);
    assert.is((await write("cpu usage=1", "precision=h")).status, 400);
    assert.is((await asDevice(world.http, device, "GET", "/api/v2/write")).status, 405);
    const huge = await write(`cpu name="${"x".repeat(300_000)}"`);
    assert.match(huge.text, /line 1: is larger than a message may be/);
    assert.is((await write("x".repeat(17 * 1024 * 1024))).status, 413);
  });

  test("a body may be packed, and has 16 MiB unpacked", async () => {
    const packed = { "Content-Encoding": "gzip" };
    const post = (body: Uint8Array) => asDevice(world.http, device, "POST", "/api/v2/write", body, packed);
    assert.is((await post(gzipSync("cpu usage=1"))).status, 204);
    const large = await post(gzipSync(Buffer.alloc(16 * 1024 * 1024 + 1, 0x0a)));
    assert.equal(
      [large.status, (JSON.parse(large.text) as { code: string }).code],
      [413, "request too large"],
    );
    const wrong = await post(Buffer.from("cpu usage=1"));
    assert.equal([wrong.status, (JSON.parse(wrong.text) as { code: string }).code], [400, "invalid"]);
    assert.is((await events()).length, 1);
  });

  test("/ping and /health answer without credentials", async () => {
    const [ping, health] = await Promise.all(["/ping", "/health"].map((path) => fetch(world.http + path)));
    assert.equal([ping?.status, health?.status], [204, 200]);
    assert.equal(((await (health as Response).json()) as { status: string }).status, "pass");
  });
});
