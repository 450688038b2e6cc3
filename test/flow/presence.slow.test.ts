/** Who is there, and what the log says of it, when a device, the network or the service itself is cut off. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";
import { connectPacket, publishPacket, rawClient, rawConnected } from "../ingest/support.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { payloadsOf, provision, type RunningService, startService } from "./support.js";

/** A device as a process of its own: it connects with MQTT.js and stays. */
async function deviceProcess(address: string, device: Rec, keepalive: number): Promise<ChildProcess> {
  const program = `
    const { connectAsync } = await import("mqtt");
    await connectAsync(process.argv[1], JSON.parse(process.argv[2]));
    console.log("connected");`;
  const options = {
    username: device.deviceUsername,
    password: device.token,
    reconnectPeriod: 0,
    keepalive,
    clientId: "process",
  };
  const child = spawn(
    process.execPath,
    ["--input-type=module", "-e", program, address, JSON.stringify(options)],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child;
}

/** A wire between device and service that can be cut without either end noticing. */
async function wire(address: string): Promise<{ address: string; cut(): void; close(): Promise<void> }> {
  const { hostname, port } = new URL(address);
  const ends: Socket[] = [];
  const server: Server = createServer((near) => {
    const far = connect(Number(port), hostname);
    near.on("data", (chunk) => far.write(chunk));
    far.on("data", (chunk) => near.write(chunk));
    for (const end of [near, far]) {
      end.on("error", () => undefined);
      ends.push(end);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut: () => {
      for (const end of ends) end.removeAllListeners("data").pause();
    },
    close: async () => {
      for (const end of ends) end.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const statusOf = async (service: RunningService, device: Rec): Promise<unknown> =>
  (await service.call("GET", `/api/v1/devices/${device.id}`)).body.deviceStatus;
const becomes = (service: RunningService, device: Rec, status: number): Promise<unknown> =>
  until(async () => (await statusOf(service, device)) === status, { what: `deviceStatus ${status}` });
const logsOf = async (service: RunningService, device: Rec) => {
  const { body } = await service.call("GET", `/api/v1/devices/${device.id}/connect_logs?_limit=1000`);
  return (body as unknown as { items: Rec[] }).items;
};
const comings = async (service: RunningService, device: Rec): Promise<unknown[]> =>
  (await logsOf(service, device)).map(({ connectStatus }) => connectStatus).reverse();

/** The log follows the status: its record goes to the disk first. */
const logged = (service: RunningService, device: Rec, statuses: readonly number[]): Promise<unknown> =>
  until(async () => String(await comings(service, device)) === String(statuses), {
    what: `the log ${statuses}`,
  });

suite("presence", (test) => {
  test(
    "kill -9 of the device, a wire cut without a word, and orderly ends",
    () =>
      withTempDir(async (dir) => {
        const service = await startService(dir);
        const [killed, cut, orderly] = (await provision(service, 3)) as [Rec, Rec, Rec];

        const child = await deviceProcess(service.mqtt, killed, 60);
        await becomes(service, killed, 1);
        child.kill("SIGKILL");
        await becomes(service, killed, 0);
        await logged(service, killed, [1, 0]);

        const line = await wire(service.mqtt);
        const silent = await rawConnected(line.address, cut, { keepalive: 2 });
        await becomes(service, cut, 1);
        const cutAt = Date.now();
        line.cut();
        await becomes(service, cut, 0);
        const seconds = (Date.now() - cutAt) / 1000;
        assert.ok(seconds > 2, `offline after ${seconds} s of 1.5 × 2 s and a look each second`);
        await logged(service, cut, [1, 0]);
        const [gone] = await logsOf(service, cut);
        assert.equal([gone?.connectStatus, gone?.keepAlive, gone?.IP], [0, 2, "127.0.0.1"]);
        silent.socket.destroy();
        await line.close();

        const leaving = await rawConnected(service.mqtt, orderly, { keepalive: 9 });
        await becomes(service, orderly, 1);
        leaving.send({ cmd: "disconnect" });
        await becomes(service, orderly, 0);
        await logged(service, orderly, [1, 0]);
        assert.equal(
          (await logsOf(service, orderly)).map(({ keepAlive }) => keepAlive),
          [9, 9],
        );
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );

  test(
    "kill -9 of the service: offline after the start, and every connection has its end, once",
    () =>
      withTempDir(async (dir) => {
        let service = await startService(dir);
        const [early, late, kept] = (await provision(service, 3)) as [Rec, Rec, Rec];
        const first = await rawConnected(service.mqtt, early, { keepalive: 30 });
        const ended = await rawConnected(service.mqtt, early, { clientId: "ended", keepalive: 31 });
        ended.send({ cmd: "disconnect" });
        await ended.ended();
        await becomes(service, early, 1);
        // Long enough for the state to be saved: the next ones are in the journal alone.
        await new Promise((resolve) => setTimeout(resolve, 2500));
        const second = await rawConnected(service.mqtt, late, { keepalive: 40 });
        const sender = await rawConnected(service.mqtt, kept, { clientId: "kept", clean: false });
        sender.send(publishPacket('{"n":1}', { messageId: 5 }));
        await sender.next("puback");
        await service.kill();
        service = await startService(dir);
        for (const device of [early, late, kept]) assert.is(await statusOf(service, device), 0);
        assert.equal(await comings(service, early), [1, 1, 0, 0]);
        assert.equal(await comings(service, late), [1, 0]);
        const [end] = await logsOf(service, early);
        assert.equal([end?.connectStatus, end?.keepAlive, end?.IP], [0, 30, "127.0.0.1"]);

        // Redelivery over the kill is still recognised, against the time of the kill.
        const again = await rawClient(service.mqtt);
        again.send(connectPacket(kept, { clientId: "kept", clean: false }));
        await again.next("connack");
        again.send(publishPacket('{"n":1}', { messageId: 5, dup: true }));
        await again.next("puback");
        assert.is((await payloadsOf(service, kept)).length, 1);

        await service.kill();
        service = await startService(dir);
        await service.stop();
        service = await startService(dir);
        assert.equal(await comings(service, early), [1, 1, 0, 0], "ended once");
        assert.equal(await comings(service, kept), [1, 0, 1, 0]);
        for (const raw of [first, second, sender, again]) raw.socket.destroy();
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );
});
