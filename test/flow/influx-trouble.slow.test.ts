/** InfluxDB's troubles as the operator of a service meets them: in the log once, in /readyz, in the answers. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { connectAsync } from "mqtt";
import { makeDevice, pointOf } from "../ingest/transports/broker/support.js";
import { assert, influxSuite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { provision, type RunningService, startService } from "./support.js";

const degraded = async (service: RunningService): Promise<Record<string, string>> => {
  const { status, body } = await service.call("GET", "/readyz");
  assert.is(status, 200, "uplinks are taken all the same");
  return body.degraded as Record<string, string>;
};

const said = (service: RunningService, text: string) =>
  service.logged.filter(({ msg }) => String(msg).includes(text));

async function publish(service: RunningService, device: Rec, payloads: readonly object[]): Promise<void> {
  const client = await connectAsync(service.mqtt, {
    username: String(device.deviceUsername),
    password: String(device.token),
    reconnectPeriod: 0,
  });
  for (const payload of payloads) await client.publishAsync("data", JSON.stringify(payload), { qos: 1 });
  await client.endAsync();
}

influxSuite("InfluxDB in trouble", (test, influx) => {
  const environment = async (fields: Readonly<Record<string, string>> = {}) => {
    const { url, token, org, bucket } = await influx();
    return { INFLUX_URL: url, INFLUX_TOKEN: token, INFLUX_ORG: org, INFLUX_BUCKET: bucket, ...fields };
  };

  test(
    "a field that something else has written: named by the answer, by /readyz and once in the log; refused points are none",
    () =>
      withTempDir(async (dir) => {
        const env = await environment();
        const { url, token, org, bucket } = await influx();
        const service = await startService(dir, env);
        const [device] = await provision(service, 1);
        if (device === undefined) throw new Error("no device");
        const products = await service.call("GET", "/api/v1/products");
        const [product] = products.body.items as Rec[];
        if (product === undefined) throw new Error("no product");
        const hum = await service.make("/api/v1/data_points", {
          ...pointOf(product),
          dataPointName: "hum",
          dataPointID: "hum",
        });
        const metric = await service.make("/api/v1/metrics", {
          metricName: "hum",
          dataPointIntID: hum.id,
          metricType: 2,
          aggregateType: 3,
          expressions: "",
        });
        const foreign = await fetch(`${url}/api/v2/write?org=${org}&bucket=${bucket}&precision=ms`, {
          method: "POST",
          headers: { authorization: `Token ${token}` },
          body: `${product.productID},device=someone n="text" ${Date.now()}`,
        });
        assert.is(foreign.status, 204, await foreign.text());
        await publish(service, device, [{ n: 1, hum: 40 }, { n: 2, hum: 41 }, { n: 3 }]);
        await service.settled();

        const raw = await service.call("GET", `/api/v1/original_data?deviceIntID=${device.id}`);
        assert.is(raw.status, 503, raw.text);
        assert.ok(raw.body.errors.n?.includes(`"${bucket}"`), raw.text);
        const csv = await service.call("GET", `/api/v1/original_data?deviceIntID=${device.id}&format=csv`);
        assert.is(csv.status, 503, csv.text);
        const other = await service.call(
          "GET",
          `/api/v1/metrics_data?deviceIntID=${device.id}&metricIntID=${metric.id}&time_unit=day`,
        );
        assert.is(other.status, 200, other.text);
        assert.ok(other.text.includes("40.5"), other.text);
        assert.ok((await degraded(service)).series_fields?.includes(`"n" of measurement`));
        const told = said(service, "InfluxDB refuses the points of a field");
        assert.equal(
          told.map(({ level, field, heldAs }) => [level, field, heldAs]),
          [["error", "n", "string"]],
        );

        const status = async (of: RunningService) => {
          const { body } = await of.call("GET", `/api/v1/devices/${device.id}/ingest_status`);
          return { messages: body.messages, points: body.points, refused: body.refused };
        };
        const truth = { messages: 3, points: 2, refused: { series: 3 } };
        await until(async () => JSON.stringify(await status(service)) === JSON.stringify(truth), {
          what: `ingest_status ${JSON.stringify(truth)}, not ${JSON.stringify(await status(service))}`,
        });
        assert.is(await service.metric("tidemark_points_total"), 2);
        // Written again from the journal, they are refused again, and counted once.
        const again = await service.call("POST", "/api/v1/resettle", { startTime: "2020-01-01 00:00:00" });
        assert.is(again.status < 300, true, again.text);
        await service.kill();
        const next = await startService(dir, env);
        await next.settled();
        assert.ok((await degraded(next)).series_fields !== undefined, "known after a restart");
        assert.equal(await status(next), truth);
        const still = await next.call("GET", `/api/v1/original_data?deviceIntID=${device.id}`);
        assert.is(still.status, 503, still.text);
        await next.stop();
      }),
    { timeoutMs: 600_000 },
  );

  test(
    "newest values of several fields: the one in conflict is named, the others answered; it is over with its data point, or its product",
    () =>
      withTempDir(async (dir) => {
        const service = await startService(dir, await environment());
        const { url, token, org, bucket } = await influx();
        const furnish = async (productName: string) => {
          const product = await service.make("/api/v1/products", { productName, cloudProtocol: 1 });
          const points: Rec[] = [];
          for (const name of ["n", "hum"]) {
            const names = { dataPointName: name, dataPointID: name };
            points.push(await service.make("/api/v1/data_points", { ...pointOf(product), ...names }));
          }
          const gateway = await service.make("/api/v1/gateways", {
            gatewayName: productName,
            productID: product.productID,
            gatewayProtocol: 1,
            upLinkNetwork: 4,
          });
          const device = await makeDevice(service, product, { upLinkSystem: 2, gateway: gateway.id });
          const foreign = await fetch(`${url}/api/v2/write?org=${org}&bucket=${bucket}&precision=ms`, {
            method: "POST",
            headers: { authorization: `Token ${token}` },
            body: `${product.productID},device=someone n="text" ${Date.now()}`,
          });
          assert.is(foreign.status, 204, await foreign.text());
          await publish(service, device, [{ n: 1, hum: 40 }]);
          await service.settled();
          return { product, points, gateway, device };
        };
        const remove = async (path: string, id: unknown) => {
          const { status, text } = await service.call("DELETE", `${path}?ids=${id}`);
          assert.is(status, 204, text);
        };
        const fields = async () => (await degraded(service)).series_fields ?? "";

        const one = await furnish("one");
        const templates = [];
        for (const { id } of one.points) {
          templates.push(
            await service.make("/api/v1/app_templates", {
              templateName: `t${id}`,
              templateType: 1,
              productID: one.product.productID,
              dataPointIntID: id,
            }),
          );
        }
        const data = await service.call("GET", `/api/v1/gateways/${one.gateway.id}/devices_data`);
        const shelf = await service.call("GET", `/api/v1/device_consoles/${one.device.id}`);
        const [listed] = data.body.items as { data: Rec[] }[];
        for (const [answer, items, humidity] of [
          [data, listed?.data ?? [], 40],
          [shelf, shelf.body.items as Rec[], "40"],
        ] as const) {
          assert.is(answer.status, 200, answer.text);
          const of = (id: string): Rec => items.find(({ dataPointID }) => dataPointID === id) ?? { id: 0 };
          assert.is(of("hum").value, humidity, answer.text);
          assert.is("error" in of("hum"), false, answer.text);
          assert.is(of("n").value, null, answer.text);
          assert.ok(String(of("n").error).includes(`field "n"`), answer.text);
        }

        // A client that comes back to the live feed receives the error of one field, and goes on with the other.
        const { apiKey } = JSON.parse(await readFile(join(dir, "first-start.json"), "utf8")) as Rec;
        const feed = await fetch(`${service.addresses.http}/api/v1/devices/${one.device.id}/live`, {
          headers: { authorization: `Bearer ${apiKey}`, "last-event-id": "before.1.0" },
        });
        let heard = "";
        for await (const chunk of feed.body ?? []) {
          heard += Buffer.from(chunk).toString("utf8");
          if (heard.includes('"hum"')) break;
        }
        assert.ok(/^: .*"n".*$/m.test(heard), heard);

        const two = await furnish("two");
        assert.ok((await fields()).includes(String(one.product.productID)), await fields());
        assert.ok((await fields()).includes(String(two.product.productID)), await fields());
        for (const template of templates) await remove("/api/v1/app_templates", template.id);
        await remove("/api/v1/data_points", one.points[0]?.id);
        await until(async () => !(await fields()).includes(String(one.product.productID)), {
          what: "the deleted data point's conflict to end",
          timeoutMs: 60_000,
        });
        assert.ok((await fields()).includes(String(two.product.productID)), "the other's holds");
        await remove("/api/v1/devices", two.device.id);
        await remove("/api/v1/gateways", two.gateway.id);
        await remove("/api/v1/products", two.product.id);
        await until(async () => (await fields()) === "", {
          what: "the deleted product's conflict to end",
          timeoutMs: 60_000,
        });
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );

  test(
    "a wrong token is found at the start, before anything is written, and named once",
    () =>
      withTempDir(async (dir) => {
        const service = await startService(dir, await environment({ INFLUX_TOKEN: "wrong" }));
        const parts = await degraded(service);
        for (const part of ["series", "series_queries"])
          assert.ok(parts[part]?.includes("unauthorized"), part);
        const lines = said(service, "InfluxDB serves no").map(({ msg, trouble }) => `${msg} ${trouble}`);
        assert.equal(lines.sort(), ["InfluxDB serves no queries token", "InfluxDB serves no writes token"]);
        await service.stop();
      }),
    { timeoutMs: 120_000 },
  );

  test(
    "away and back, while nobody writes or asks: each said once, with how long",
    () =>
      withTempDir(async (dir) => {
        const service = await startService(dir, await environment());
        assert.equal(await degraded(service), {});
        await (await influx()).stop();
        await until(async () => said(service, "InfluxDB serves no").length === 2, {
          what: "the log to say so",
          timeoutMs: 40_000,
        });
        assert.equal(Object.keys(await degraded(service)).sort(), ["series", "series_queries"]);
        await (await influx()).start();
        await until(async () => said(service, "again").length === 2, {
          what: "the log to say so",
          timeoutMs: 40_000,
        });
        assert.equal(await degraded(service), {});
        const back = said(service, "InfluxDB serves");
        assert.equal(back.map(({ msg, level }) => `${level} ${msg}`).sort(), [
          "info InfluxDB serves queries again",
          "info InfluxDB serves writes again",
          "warn InfluxDB serves no queries",
          "warn InfluxDB serves no writes",
        ]);
        for (const { awayMs } of said(service, "again")) assert.ok(Number(awayMs) > 0);
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );

  test(
    "a bucket of ours that disappears is made again, which the log says loudly",
    () =>
      withTempDir(async (dir) => {
        const { url, token, org } = await influx();
        const bucket = "gone";
        const service = await startService(dir, await environment({ INFLUX_BUCKET: bucket }));
        assert.is(said(service, "has been made").length, 1);
        const [device] = await provision(service, 1);
        if (device === undefined) throw new Error("no device");
        const headers = { authorization: `Token ${token}` };
        const list = await fetch(`${url}/api/v2/buckets?org=${org}&name=${bucket}`, { headers });
        const { buckets } = (await list.json()) as { buckets: { id: string }[] };
        await fetch(`${url}/api/v2/buckets/${buckets[0]?.id}`, { method: "DELETE", headers });
        await publish(service, device, [{ n: 1 }]);
        await service.settled();
        const loud = said(service, "made again");
        assert.equal(
          loud.map(({ level, bucket: name }) => [level, name]),
          [["error", bucket]],
        );
        assert.equal(await degraded(service), {});
        await service.stop();
      }),
    { timeoutMs: 120_000 },
  );
});
