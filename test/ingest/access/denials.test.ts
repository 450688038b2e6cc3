import { createDenials } from "../../../ingest/access/denials.js";
import type { DeviceEntry } from "../../../ingest/directory/entries.js";
import { createMeter } from "../../../ingest/meter.js";
import type { Accept } from "../../../ingest/uplinks/accept.js";
import { nextTurn } from "../../../store/lib/scheduling.js";
import { shardsOf } from "../../shards.js";
import { assert, suite } from "../../suite.js";

const deviceOf = (id: number, parent: number | null = null) => ({ id, device: { parent } }) as DeviceEntry;

/** Two shards; `full`: those that take nothing. */
function begin(get: (id: number) => Promise<DeviceEntry | undefined>, full: ReadonlySet<number> = new Set()) {
  const recorded: string[] = [];
  const accepts = [0, 1].map((shard) => {
    const deny: Accept["deny"] = (device) => void recorded.push(`device ${device.id} in shard ${shard}`);
    return { deny, full: full.has(shard) } as Accept;
  });
  const meter = createMeter();
  const clock = { ms: 0 };
  const shards = shardsOf(accepts, { get, peek: () => undefined });
  const denials = createDenials(shards, meter, () => clock.ms);
  const add = (device: DeviceEntry) => denials.add(device, "10.0.0.1", "client", 60);
  return { recorded, meter, clock, add };
}

suite("refused connections over shards", (test) => {
  test("are records of the device's shard, one a second, also if what is above it must be asked for", async () => {
    const { recorded, meter, clock, add } = begin(async (id) => deviceOf(id));
    add(deviceOf(2));
    add(deviceOf(3));
    add(deviceOf(2));
    assert.equal(recorded, ["device 2 in shard 0", "device 3 in shard 1"]);
    add(deviceOf(4, 3));
    await nextTurn();
    assert.is(recorded.at(-1), "device 4 in shard 1");
    assert.is(meter.denialsUnrecorded, 1);
    clock.ms = 1000;
    add(deviceOf(2));
    assert.is(recorded.length, 4);
  });

  test("have one bound, whatever the number of shards", () => {
    const { recorded, meter, add } = begin(async () => undefined);
    for (let id = 1; id <= 1500; id++) add(deviceOf(id));
    assert.equal([recorded.length, meter.denialsUnrecorded], [1000, 500]);
  });

  test("are counted where the shard takes nothing, or cannot be notified", async () => {
    const away = () => Promise.reject(new Error("the metadata are away"));
    const { recorded, meter, add } = begin(away, new Set([1]));
    add(deviceOf(3));
    assert.is(meter.denialsUnrecorded, 1);
    add(deviceOf(4, 2));
    await nextTurn();
    assert.equal([recorded, meter.denialsUnrecorded], [[], 2]);
  });
});
