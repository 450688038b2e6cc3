/** kill -9 in the middle of commands: what a log says is true, and nobody gets a command anew. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { csvOf, formOf, formType } from "../api/transfer.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { createListener } from "./command-listener.js";
import { controlLogsOf, provision, type RunningService, startService } from "./support.js";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const once = (texts: readonly string[], what: string) =>
  assert.is(new Set(texts).size, texts.length, `${what}: something came anew twice`);

/** Kills the service in the midst of a command to a thousand devices. */
async function sentOnce(
  dir: string,
  send: (
    service: RunningService,
    product: Rec,
    devices: readonly Rec[],
  ) => Promise<Readonly<Record<string, unknown>>>,
): Promise<void> {
  let service = await startService(dir);
  const members = 1000;
  const { product, devices } = await importFleet(service, dir, members);
  const here = devices.filter((_, i) => i % 10 === 0);
  const listeners = here.map((device) => createListener(device));
  for (const listener of listeners) await listener.connect(service.mqtt);
  const { statusUrl } = await send(service, product, devices);
  const path = `/api/v1${statusUrl}`;
  const heard = () => listeners.reduce((sum, { fresh }) => sum + fresh.length, 0);
  await until(() => heard() >= 2, { what: "the first turns" });
  await service.kill();
  assert.ok(heard() < here.length, "the kill came too late");

  service = await startService(dir);
  for (const listener of listeners) await listener.connect(service.mqtt);
  const task = await until(
    async () => {
      const { body } = await service.call("GET", path);
      return body.state === "SUCCESS" && body;
    },
    { what: "the task's end" },
  );
  const { publish_success_num, publish_failure_num, done, failed } = task.msg as Record<string, number>;
  assert.is(Number(publish_success_num ?? done) + Number(publish_failure_num ?? failed), members);
  await until(
    async () => {
      const path = "/api/v1/device_control_logs?publishStatus=1&_limit=1";
      return ((await service.call("GET", path)).body.items as Rec[]).length === 0;
    },
    { what: "every log to be settled" },
  );
  for (const [i, listener] of listeners.entries()) {
    const logs = await controlLogsOf(service, here[i] as Rec);
    assert.is(logs.length, 1);
    assert.ok(listener.fresh.length <= 1, "twice");
    assert.is(logs[0]?.publishStatus, listener.acknowledged.size === 1 ? 2 : 0);
  }
  const { body: all } = await service.call("GET", "/api/v1/device_control_logs?_limit=1");
  assert.is((all.meta as { count: number }).count, members);
  const { body: groupLogs } = await service.call("GET", "/api/v1/groups/1/control_logs");
  // A command to devices that are no group has no log but theirs.
  const { items } = groupLogs as { readonly items?: readonly Rec[] };
  if (items !== undefined) assert.is(items.length, 1);
  await Promise.all(listeners.map((listener) => listener.cut()));
  await service.stop();
}

suite("commands through kill -9", (test) => {
  test(
    "device_publish: a log is confirmed exactly if the device has confirmed",
    () =>
      withTempDir(async (dir) => {
        let service = await startService(dir);
        const [device] = (await provision(service, 1)) as [Rec];
        const listener = createListener(device, 3);
        await listener.connect(service.mqtt);
        let sent = 0;
        const successful = new Set<string>();
        for (let round = 0; round < 4; round++) {
          const current = service;
          let killed = false;
          const send = async (): Promise<void> => {
            while (!killed) {
              const payload = `c${sent++}`;
              const body = { deviceID: device.deviceID, payload };
              const reply = await current.call("POST", "/api/v1/device_publish", body).catch(() => null);
              if (reply?.body.publishStatus === "successful") successful.add(payload);
            }
          };
          const sending = [send(), send(), send()];
          const before = successful.size;
          await until(() => successful.size >= before + 8, { what: "commands that have succeeded" });
          // Away for a part of some rounds: what comes then waits.
          if (round % 2 === 1) await listener.cut();
          await pause(Math.random() * 400);
          await service.kill();
          killed = true;
          await Promise.all(sending);
          service = await startService(dir);
          // The log knows of nothing that nobody holds any more.
          const issued = (await controlLogsOf(service, device)).filter((log) => log.publishStatus === 1);
          await listener.connect(service.mqtt);
          await until(
            async () => (await controlLogsOf(service, device)).every((log) => log.publishStatus !== 1),
            {
              what: `${issued.length} receipts`,
            },
          );
        }
        const logs = await controlLogsOf(service, device);
        const confirmed = new Set(logs.filter((l) => l.publishStatus === 2).map((l) => String(l.payload)));
        assert.equal([...confirmed].sort(), [...listener.acknowledged].sort());
        assert.equal(
          [...successful].filter((payload) => !confirmed.has(payload)),
          [],
        );
        once(listener.fresh, "the device");
        assert.ok(successful.size > 30, `only ${successful.size}`);
        await listener.cut();
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );

  test(
    "device_publish at QoS 0: sent once or not at all, and what nobody knows of has failed",
    () =>
      withTempDir(async (dir) => {
        let service = await startService(dir);
        const [device] = (await provision(service, 1)) as [Rec];
        const listener = createListener(device);
        let made = 0;
        for (let round = 0; round < 3; round++) {
          await listener.connect(service.mqtt);
          const current = service;
          let killed = false;
          const send = async (): Promise<void> => {
            while (!killed) {
              const body = { deviceID: device.deviceID, payload: `q${made++}`, qos: 0 };
              await current.call("POST", "/api/v1/device_publish", body).catch(() => null);
            }
          };
          const sending = [send(), send(), send()];
          const before = listener.fresh.length;
          await until(() => listener.fresh.length >= before + 8, { what: "commands that have arrived" });
          await pause(Math.random() * 300);
          await service.kill();
          killed = true;
          await Promise.all(sending);
          service = await startService(dir);
          const statuses = new Set((await controlLogsOf(service, device)).map((log) => log.publishStatus));
          assert.ok(statuses.has(3));
          assert.ok(!statuses.has(1) && !statuses.has(2), `statuses ${[...statuses]}`);
        }
        await listener.connect(service.mqtt);
        await pause(200);
        once(listener.fresh, "the device");
        const logs = await controlLogsOf(service, device);
        const heard = new Set(listener.fresh);
        const sent = logs.filter((log) => log.publishStatus === 3 && heard.has(String(log.payload)));
        assert.ok(sent.length > 10, `only ${sent.length}`);
        await listener.cut();
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );

  const begin = {
    group_publish: async (service: RunningService, product: Rec, devices: readonly Rec[]) => {
      const group = await service.make("/api/v1/groups", { groupName: "G", productID: product.productID });
      const ids = devices.map(({ id }) => id);
      const joined = await service.call("POST", `/api/v1/groups/${group.id}/devices`, { ids });
      assert.is(joined.status, 201, joined.text);
      return service.make("/api/v1/group_publish", { groupID: group.groupID, payload: "once" });
    },
    "devices/bulk": async (service: RunningService, product: Rec) => {
      const body = { filter: { productIntID: product.id }, action: "command", payload: "once" };
      const begun = await service.call("POST", "/api/v1/devices/bulk", body);
      assert.is(begun.status, 202, begun.text);
      return begun.body;
    },
  };
  for (const [name, send] of Object.entries(begin)) {
    test(
      `${name}: goes on with those that have had no turn, and sends nobody anything twice`,
      () => withTempDir((dir) => sentOnce(dir, send)),
      { timeoutMs: 600_000 },
    );
  }

  test(
    "schedules: each runs once, whenever the kill comes",
    () =>
      withTempDir(async (dir) => {
        let service = await startService(dir);
        const devices = await provision(service, 3);
        const listeners = devices.map((device) => createListener(device));
        for (const listener of listeners) await listener.connect(service.mqtt);
        let made = 0;
        for (let round = 0; round < 3; round++) {
          const dueAt = Math.ceil((Date.now() + 5000) / 1000) * 1000;
          const crontabTime = new Date(dueAt).toISOString().slice(0, 19).replace("T", " ");
          const post = (device: Rec) =>
            service.call("POST", "/api/v1/device_schedule_publish", {
              deviceID: device.deviceID,
              payload: `s${made++}`,
              scheduleName: "s",
              scheduleType: 0,
              crontabTime,
            });
          const all = Array.from({ length: 20 }, () => devices).flat();
          const replies = await Promise.all(all.map(post));
          assert.equal([...new Set(replies.map(({ status }) => status))], [201], replies[0]?.text);
          await pause(dueAt - Date.now() + Math.random() * 60);
          await service.kill();
          service = await startService(dir);
          for (const listener of listeners) await listener.connect(service.mqtt);
          await until(
            async () => {
              const path = "/api/v1/schedule_publish?scheduleType=0&_limit=1";
              return ((await service.call("GET", path)).body.items as Rec[]).length === 0;
            },
            { what: "every run" },
          );
        }
        const logs = await until(
          async () => {
            const found = (await Promise.all(devices.map((device) => controlLogsOf(service, device)))).flat();
            return found.every((log) => log.publishStatus !== 1) && found;
          },
          { what: "every receipt" },
        );
        assert.is(logs.length, made);
        once(
          logs.map(({ payload }) => String(payload)),
          "a schedule",
        );
        for (const [i, listener] of listeners.entries()) {
          once(listener.fresh, `device ${i}`);
          const own = logs.filter((log) => log.deviceIntID === devices[i]?.id && log.publishStatus === 2);
          assert.equal(own.map(({ payload }) => String(payload)).sort(), [...listener.acknowledged].sort());
        }
        await Promise.all(listeners.map((listener) => listener.cut()));
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );
});

/** A product and so many devices of it, from one file, ascending by id. */
async function importFleet(
  service: RunningService,
  dir: string,
  count: number,
): Promise<{ product: Rec; devices: Rec[] }> {
  const product = await service.make("/api/v1/products", { productName: "fleet", cloudProtocol: 1 });
  const { productID } = product;
  const rows = Array.from({ length: count }, (_, i) => ({
    deviceID: `f${i}`,
    deviceName: `f${i}`,
    deviceType: 1,
    upLinkSystem: 1,
    authType: 1,
    productID: String(productID),
    cloudProtocol: 1,
  }));
  const first = JSON.parse(await readFile(join(dir, "first-start.json"), "utf8")) as { apiKey: string };
  const response = await fetch(`${service.addresses.http}/api/v1/devices_import`, {
    method: "POST",
    headers: { Authorization: `Bearer ${first.apiKey}`, "Content-Type": formType },
    body: formOf(csvOf(rows)),
  });
  assert.is(response.status, 202);
  const page = `/api/v1/devices?productID=${productID}&_limit=1000`;
  const items = await until(
    async () => {
      const found = (await service.call("GET", page)).body.items as Rec[];
      return found.length === count && found;
    },
    { what: "the import", timeoutMs: 30_000 },
  );
  return { product, devices: items.reverse() };
}
