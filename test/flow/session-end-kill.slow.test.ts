/** A session that was ended stays ended through kill -9, whatever of it was on disk before. */
import { connectPacket, rawClient, rawConnected } from "../ingest/support.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { nothingSetAside, provision, type RunningService, startService } from "./support.js";

const sessionsOf = async (service: RunningService, device: Rec) => {
  const { body } = await service.call("GET", `/api/v1/devices/${device.id}/sessions`);
  return (body.items as Rec[]).map(({ clientID, queuedMessages }) => `${clientID} ${queuedMessages}`);
};

suite("ended sessions through kill -9", (test) => {
  test(
    "neither the session nor what waited in it comes back; others keep theirs; commands have failed",
    () =>
      withTempDir(async (dir) => {
        let service = await startService(dir);
        const [device] = (await provision(service, 1)) as [Rec];
        const connect = (clientId: string) =>
          rawConnected(service.mqtt, device, { clientId, clean: false, keepalive: 30 });
        const command = async (payload: string) => {
          const body = { deviceID: device.deviceID, payload };
          return (await service.make("/api/v1/device_publish", body)).publishStatus;
        };
        const logs = async () => {
          const { body } = await service.call("GET", `/api/v1/devices/${device.id}/control_logs`);
          return (body.items as Rec[]).map(({ publishStatus }) => publishStatus);
        };
        for (const clientId of ["away", "other"]) {
          const raw = await connect(clientId);
          raw.send({ cmd: "disconnect" });
          await raw.ended();
        }
        assert.is(await command("for both"), "successful");
        const there = await connect("there, with a comma 🌡");
        assert.equal(await sessionsOf(service, device), ["there, with a comma 🌡 0", "away 1", "other 1"]);
        // A save before the end contains the sessions; the record of their end comes after it.
        const ids = `away,${encodeURIComponent("there, with a comma 🌡")}`;
        const path = `/api/v1/devices/${device.id}/sessions?clientIDs=${ids}`;
        assert.is((await service.call("DELETE", path)).status, 204);
        assert.is((await service.call("DELETE", path)).status, 404);
        await there.ended();
        await service.kill();

        service = await startService(dir);
        await nothingSetAside(service);
        assert.equal(await sessionsOf(service, device), ["other 1"]);
        assert.equal(await logs(), [1], "it waits in the other session still");
        for (const clientId of ["away", "there, with a comma 🌡"]) {
          const raw = await rawClient(service.mqtt);
          raw.send(connectPacket(device, { clientId, clean: false }));
          assert.is((await raw.next("connack")).sessionPresent, false, clientId);
          assert.is(raw.packets.filter(({ cmd }) => cmd === "publish").length, 0);
          await raw.cut();
        }
        assert.is(
          (await service.call("DELETE", `/api/v1/devices/${device.id}/sessions?clientIDs=other`)).status,
          204,
        );
        // At once: the receipt may not be stored yet.
        await service.kill();

        service = await startService(dir);
        await nothingSetAside(service);
        await until(async () => String(await logs()) === "0", { what: "the command to have failed" });
        assert.ok(!(await sessionsOf(service, device)).some((one) => one.startsWith("other")));
        await service.stop();
      }),
    { timeoutMs: 120_000 },
  );
});
