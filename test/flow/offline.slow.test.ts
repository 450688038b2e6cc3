/** Devices that go away without a word, through real connections, a kill and a stop: which of them raise an alert. */
import { rawConnected } from "../ingest/support.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { provision, type RunningService, startService } from "./support.js";

const environment = { OFFLINE_ALERT_SECONDS: "3" };

interface Alert {
  readonly deviceID: string;
  readonly alertName: string;
}

async function offline(service: RunningService, list: "current" | "history" = "current"): Promise<string[]> {
  const { body } = await service.call("GET", `/api/v1/${list}_alerts?_limit=100`);
  const alerts = body.items as unknown as readonly Alert[];
  assert.ok(alerts.every((one) => one.alertName === "设备离线"));
  return alerts.map((one) => one.deviceID).sort();
}

const becomes = (service: RunningService, devices: readonly (Rec | undefined)[]) => {
  const expected = devices.map((one) => String(one?.deviceID)).sort();
  const isSo = async () => JSON.stringify(await offline(service)) === JSON.stringify(expected);
  return until(isSo, { what: `alerts of ${expected}`, timeoutMs: 15_000 });
};

suite("devices that go away", (test) => {
  test("a broken connection, a kill and a stop raise an alert; a goodbye and being blocked do not", () =>
    withTempDir(async (dir) => {
      let service = await startService(dir, environment);
      const devices = await provision(service, 6);
      const [broken, polite, blocked, killed, stopped, returning] = devices as [Rec, Rec, Rec, Rec, Rec, Rec];
      const connect = (device: Rec) => rawConnected(service.mqtt, device);

      const outcast = await connect(blocked);
      const put = await service.call("PUT", `/api/v1/devices/${blocked.id}`, { blocked: 1 });
      assert.is(put.status, 200, put.text);
      await outcast.ended();
      const guest = await connect(polite);
      guest.send({ cmd: "disconnect" });
      await guest.ended();
      // This one leaves last: any other device that raises an alert would have done so before.
      await (await connect(broken)).cut();
      await becomes(service, [broken]);

      await connect(killed);
      const coming = await connect(returning);
      await service.kill();
      await coming.ended();
      service = await startService(dir, environment);
      // It comes back in time.
      await connect(returning);
      await becomes(service, [broken, killed]);
      await connect(broken);
      await becomes(service, [killed]);
      assert.equal(await offline(service, "history"), [broken.deviceID]);

      await connect(stopped);
      await service.stop();
      service = await startService(dir, environment);
      await becomes(service, [broken, killed, stopped, returning]);
      await service.stop();
    }));
});
