/** Alerts begin and end, SIGKILL, start again: each beginning and each end has been notified. */
import { connectAsync } from "mqtt";
import { openHook } from "../notifications/receivers.js";
import type { Told } from "../notifications/support.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { nothingSetAside, provision, type RunningService, startService } from "./support.js";

const rounds = 3;
const devicesCount = 12;
const killedWithinMs = 1500;
const environment = { NOTIFY_PRIVATE_ADDRESSES: "127.0.0.1", OFFLINE_ALERT_SECONDS: "3600" };

async function allAlerts(service: RunningService): Promise<readonly Rec[]> {
  const lists = ["current_alerts", "history_alerts"].map(
    async (list) => (await service.call("GET", `/api/v1/${list}?_limit=1000`)).body.items as readonly Rec[],
  );
  return (await Promise.all(lists)).flat();
}

/** Doubles a text until V8 ends the process, if nothing ends the template before. */
const bomb = `{% capture s %}0123456789abcdef{% endcapture %}${"{% capture s %}{{ s }}{{ s }}{% endcapture %}".repeat(24)}{{ s | replace: "0", "00" }}`;

suite("notifications after kills", (test) => {
  test("a template that once ended the process, and each start after it, ends nothing: its alert goes out", () =>
    withTempDir(async (dir) => {
      const hook = await openHook();
      hook.answer = (response) => response.writeHead(503).end();
      let service = await startService(dir, environment);
      const [device] = await provision(service, 1);
      const { body } = await service.call("GET", "/api/v1/data_points");
      const [point] = body.items as readonly Rec[];
      const rule = { alertName: "odd", dataPointIntID: point?.id, condition: "mod(dataPoint, 2) == 1" };
      await service.make("/api/v1/alert_rules", rule);
      const preview = await service.call("POST", "/api/v1/contact_points/preview", {
        type: "webhook",
        bodyTemplate: bomb,
      });
      assert.is(preview.status, 400);
      const contact = { name: "hook", type: "webhook", settings: { url: hook.url }, bodyTemplate: bomb };
      const { id } = await service.make("/api/v1/contact_points", contact);
      await service.make("/api/v1/alert_routes", { name: "all", contactPoints: [id], wait: 0 });
      const client = await connectAsync(service.mqtt, {
        username: String(device?.deviceUsername),
        password: String(device?.token),
        clientId: "one",
      });
      await client.publishAsync("up", JSON.stringify({ n: 1 }), { qos: 1 });
      await client.endAsync();
      const log = async () =>
        (await service.call("GET", "/api/v1/notifications")).body.items as readonly Rec[];
      await until(async () => Number((await log())[0]?.attempts) > 0, { what: "the first attempt" });
      for (let start = 0; start < 2; start++) {
        await service.kill();
        service = await startService(dir, environment);
        const before = hook.received.length;
        await until(() => hook.received.length > before, { what: "an attempt after a start" });
      }
      hook.answer = (response) => response.writeHead(200).end("thanks");
      await until(async () => (await log())[0]?.status === "delivered", { what: "its delivery" });
      const [only] = await log();
      assert.match(
        String(only?.answer),
        /^cannot render the body template: takes more than 32 MiB of memory; .*: 200 OK thanks$/,
      );
      assert.is((JSON.parse(hook.received.at(-1)?.body ?? "") as Told).alerts.length, 1);
      await nothingSetAside(service);
      await service.stop();
      await hook.close();
    }));

  test(
    `${rounds} kills lose no beginning and no end of an alert, and a repeated message has the id of the first`,
    () =>
      withTempDir(async (dir) => {
        const hook = await openHook();
        // Every third is refused at first, so that messages wait while the service is killed.
        let requests = 0;
        hook.answer = (response) => response.writeHead(++requests % 3 === 0 ? 503 : 200).end();
        let service = await startService(dir, environment);
        const devices = await provision(service, devicesCount);
        const { body } = await service.call("GET", "/api/v1/data_points");
        const [point] = body.items as readonly Rec[];
        await service.make("/api/v1/alert_rules", {
          alertName: "odd",
          dataPointIntID: point?.id,
          condition: "mod(dataPoint, 2) == 1",
        });
        const contact = await service.make("/api/v1/contact_points", {
          name: "hook",
          type: "webhook",
          settings: { url: hook.url },
        });
        await service.make("/api/v1/alert_routes", {
          name: "all",
          contactPoints: [contact.id],
          groupBy: ["device"],
          wait: 0,
          groupInterval: 10,
          repeatInterval: 0,
        });
        let n = 0;
        for (let round = 0; round < rounds; round++) {
          n++;
          for (const device of devices) {
            const client = await connectAsync(service.mqtt, {
              username: String(device.deviceUsername),
              password: String(device.token),
              clientId: "one",
            });
            await client.publishAsync("up", JSON.stringify({ n }), { qos: 1 });
            await client.endAsync();
          }
          await new Promise((resolve) => setTimeout(resolve, Math.random() * killedWithinMs));
          await service.kill();
          service = await startService(dir, environment);
        }
        // The last is odd: every device has a current alert, and one that has ended.
        await service.settled();
        hook.answer = (response) => response.writeHead(200).end();
        const expected = () =>
          allAlerts(service).then((all) => ({
            began: all.map(({ id }) => id).sort(),
            ended: all
              .filter(({ endTime }) => endTime !== undefined)
              .map(({ id }) => id)
              .sort(),
          }));
        await until(async () => (await expected()).began.length === 2 * devicesCount, { what: "the alerts" });
        const told = () => {
          const alerts = hook.received.flatMap((one) => (JSON.parse(one.body) as Told).alerts);
          const ended = alerts.filter(({ status }) => status === "resolved");
          const ids = (of: typeof alerts) => [...new Set(of.map(({ id }) => id))].sort();
          return { began: ids(alerts), ended: ids(ended) };
        };
        const wanted = await expected();
        assert.is(wanted.ended.length, devicesCount);
        await until(
          () => told().began.length === wanted.began.length && told().ended.length === devicesCount,
          {
            what: "every beginning and end to be sent",
          },
        );
        assert.equal(told(), wanted);
        // A message sent twice is the same message.
        const byID = new Map<unknown, string>();
        for (const { headers, body: text } of hook.received) {
          const id = headers["webhook-id"];
          assert.is(byID.get(id) ?? text, text);
          byID.set(id, text);
        }
        const isQuiet = async () => (await service.metric("tidemark_notifications_waiting ")) === 0;
        await until(isQuiet, { what: "nothing to wait" });
        const { body: log } = await service.call("GET", "/api/v1/notifications?_limit=1000");
        for (const { status } of log.items as readonly Rec[]) assert.is(status, "delivered");
        await nothingSetAside(service);
        await service.stop();
        await hook.close();
      }),
    { timeoutMs: 300_000 },
  );
});
