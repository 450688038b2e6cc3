/** The process on a journal that was damaged while it was down: it starts, says what is lost, and goes on. */
import { readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordSize } from "../../store/journal/frame.js";
import { decodeRecord } from "../../store/journal/record-codecs.js";
import { recordKinds } from "../../store/journal/record-kinds.js";
import { segmentHeadBytes } from "../../store/journal/segment-head.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { createPublisher } from "./publisher.js";
import { payloadsOf, provision, type RunningService, startService, valuesOf } from "./support.js";

const messages = 200;

/** Resolves with the numbers that were acknowledged: `messages` of them or some more. */
async function publish(service: RunningService, device: Rec, from: number): Promise<number[]> {
  const payload = (n: number): string => `{"n":${from + n}}`;
  const publisher = createPublisher({ device, qos: 1, clientID: "edge", payload, mostInFlight: 20 });
  const running = publisher.run(service.mqtt);
  await until(() => publisher.acknowledged.size >= messages, { what: "acknowledgements" });
  await publisher.stop();
  await running;
  await service.settled();
  return Array.from({ length: publisher.sent }, (_, n) => from + n);
}

/** The newest segment with bytes of uplinks: number and place [from, to) of each. */
async function uplinks(
  dir: string,
): Promise<{ path: string; bytes: Buffer; at: [number, number, number][] }> {
  const folder = join(dir, "journal");
  for (const name of (await readdir(folder)).filter((one) => one.endsWith(".journal")).reverse()) {
    const bytes = await readFile(join(folder, name));
    const at: [number, number, number][] = [];
    for (let from = segmentHeadBytes; from < bytes.length; ) {
      const to = from + recordSize(bytes, from, bytes.length);
      const record = decodeRecord(bytes, from);
      if (record.kind === recordKinds.uplink)
        at.push([JSON.parse(String(record.payload)).n as number, from, to]);
      from = to;
    }
    if (at.length > 0) return { path: join(folder, name), bytes, at };
  }
  throw new Error("no uplinks in the journal");
}

const numbersOf = async (service: RunningService, device: Rec): Promise<number[]> =>
  (await payloadsOf(service, device)).map((text) => (JSON.parse(text) as { n: number }).n);

async function degraded(service: RunningService): Promise<string> {
  const { status, text } = await service.call("GET", "/readyz");
  assert.is(status, 200);
  return text;
}

suite("a damaged journal", (test) => {
  test("whose end is lost starts, says so, and loses nothing that comes afterwards", () =>
    withTempDir(async (dir) => {
      const first = await startService(dir);
      const [device] = await provision(first, 1);
      if (device === undefined) throw new Error("no device");
      const early = await publish(first, device, 0);
      await first.stop();
      const { path, at } = await uplinks(dir);
      await truncate(path, at[at.length - 10]?.[1] ?? 0);
      const kept = early.slice(0, -10);

      const second = await startService(dir);
      const damage = second.logged.find(({ msg }) => /its end is lost/.test(String(msg)));
      assert.is(damage?.level, "error");
      assert.match(String(damage?.msg), /the series store at \d+/);
      assert.match(await degraded(second), /journal damage/);
      assert.is(await second.metric("tidemark_damage_total", "journal"), 1);
      assert.equal(await numbersOf(second, device), kept);
      const late = await publish(second, device, 1000);
      assert.equal(await numbersOf(second, device), [...kept, ...late]);
      // Points that were stored before their records were lost stay.
      assert.equal(await valuesOf(second, device), [...early, ...late]);
      await second.kill();

      const third = await startService(dir);
      assert.not.ok(third.logged.some(({ msg }) => /its end is lost/.test(String(msg))));
      assert.equal(await numbersOf(third, device), [...kept, ...late]);
      await third.stop();
    }));

  test("in the middle costs the message that it touches, in lists and in what follows, and is named", () =>
    withTempDir(async (dir) => {
      const first = await startService(dir);
      const [device] = await provision(first, 1);
      if (device === undefined) throw new Error("no device");
      const sent = await publish(first, device, 0);
      await first.stop();
      const { path, bytes, at } = await uplinks(dir);
      const [, from] = at[100] ?? [0, 0];
      bytes.writeUInt32LE(bytes.readUInt32LE(from) ^ 0x1000, from);
      await writeFile(path, bytes);

      const second = await startService(dir);
      const rest = sent.filter((n) => n !== 100);
      assert.equal(await numbersOf(second, device), rest);
      assert.ok(second.logged.some(({ msg, file }) => file === path && /is lost/.test(String(msg))));
      assert.match(await degraded(second), /journal damage/);
      const late = await publish(second, device, 1000);
      assert.equal(await numbersOf(second, device), [...rest, ...late]);
      await second.stop();
    }));
});
