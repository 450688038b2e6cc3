/** A disk that fills while devices publish: nothing is acknowledged that is not kept, and it goes on by itself. */
import { statfsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connectPacket, rawClient } from "../ingest/support.js";
import { asDevice, type DeviceReply } from "../ingest/transports/http/support.js";
import { mountSmallDisk, type SmallDisk } from "../small-disk.js";
import { assert, suite, until } from "../suite.js";
import type { Rec } from "../world.js";
import { createPublisher } from "./publisher.js";
import { payloadsOf, provision, type RunningService, startService, valuesOf } from "./support.js";

const mebi = 2 ** 20;
const diskBytes = 64 * mebi;
const freeBytesMin = 8 * mebi;
const publishers = 6;

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

async function notReady(service: RunningService): Promise<string | null> {
  const { status, body } = await service.call("GET", "/readyz");
  return status === 503 ? (body.errors.uplinks ?? "") : null;
}

interface Case {
  readonly name: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Bytes that are left to the service when the disk "fills". */
  readonly left: number;
  readonly says: RegExp;
}

const cases: readonly Case[] = [
  {
    name: "below FREE_BYTES_MIN",
    environment: { FREE_BYTES_MIN: String(freeBytesMin) },
    left: freeBytesMin / 2,
    says: /disk full/,
  },
  { name: "to the last byte", environment: { FREE_BYTES_MIN: "0" }, left: 0, says: /ENOSPC|disk full/ },
];

/** Longer than a sweep over the connections that have stopped reading. */
const steadyMs = 2500;

/** The number once acknowledgements have stopped: messages that were on their way, or still fitted, have arrived. */
async function steady(acknowledged: () => number): Promise<number> {
  for (let round = 0; round < 8; round++) {
    const before = acknowledged();
    await new Promise((resolve) => setTimeout(resolve, steadyMs));
    if (acknowledged() === before) return before;
  }
  throw new Error("acknowledgements are not held");
}

async function fillAndRecover(disk: SmallDisk, { name, environment, left, says }: Case): Promise<void> {
  const dir = join(disk.path, name.replaceAll(" ", "-"));
  const ballast = join(disk.path, "ballast");
  const service = await startService(dir, environment);
  const [poster, ...devices] = (await provision(service, publishers + 1)) as [Rec, ...Rec[]];
  const post = (): Promise<DeviceReply> =>
    asDevice(String(service.addresses.http), poster, "POST", "/api/v1/uplinks/data", '{"n":1}', {
      "Message-Id": "once",
    });
  const loads = devices.map((device) => ({
    device,
    publisher: createPublisher({
      device,
      qos: 1,
      clientID: "flow",
      mostInFlight: 20,
      pauseMs: 5,
      payload: (n) => JSON.stringify({ n }),
    }),
  }));
  for (const { publisher } of loads) void publisher.run(service.mqtt);
  await until(() => loads.every(({ publisher }) => publisher.acknowledged.size > 50), { what: "load" });
  await writeFile(ballast, Buffer.alloc(Math.max(0, freeBytes(disk.path) - left))).catch((error) => {
    if (error.code !== "ENOSPC") throw error;
  });
  await until(async () => says.test((await notReady(service)) ?? ""), {
    what: "/readyz to say why",
    timeoutMs: 20_000,
  });

  const acknowledged = (): number =>
    loads.reduce((sum, { publisher }) => sum + publisher.acknowledged.size, 0);
  const before = await steady(acknowledged);
  assert.match((await notReady(service)) ?? "", says);
  const [first] = devices as [Rec];
  const listed = await service.call("GET", `/api/v1/devices/${first.id}/events`);
  const read = await service.call("GET", `/api/v1/original_data?deviceIntID=${first.id}`);
  assert.equal([listed.status, read.status], [200, 200], "queries go on");
  const late = await rawClient(service.mqtt);
  late.send(connectPacket(first, { clientId: "late" }));
  assert.is((await late.next("connack")).returnCode, 3);
  await late.ended();
  const refused = await post();
  assert.equal([refused.status, refused.headers.get("retry-after")], [503, "5"], "over HTTP as well");

  await rm(ballast);
  await until(async () => (await notReady(service)) === null, { what: "the service to go on by itself" });
  await until(() => acknowledged() > before + 100, { what: "held acknowledgements" });
  await Promise.all(loads.map(({ publisher }) => publisher.stop()));
  assert.equal([(await post()).status, (await post()).status], [204, 204]);
  await service.settled();
  assert.equal(await payloadsOf(service, poster), ['{"n":1}'], "once, however often it was sent");
  for (const { device, publisher } of loads) {
    const numbers = Array.from({ length: publisher.sent }, (_, n) => n);
    assert.is(publisher.acknowledged.size, publisher.sent);
    assert.equal(
      (await payloadsOf(service, device)).map((text) => JSON.parse(text).n),
      numbers,
    );
    assert.equal(await valuesOf(service, device), numbers);
  }
  await service.stop();
  await rm(dir, { recursive: true });
}

suite("a disk that fills", (test) => {
  const disk = mountSmallDisk(diskBytes);
  for (const one of cases) {
    const title = `${one.name}: acknowledgements are held, queries go on, and it goes on by itself`;
    if ("reason" in disk) test.skip(title, disk.reason);
    else test(title, () => fillAndRecover(disk, one), { timeoutMs: 90_000 });
  }
  if (!("reason" in disk)) test.after(() => disk.close());
});
