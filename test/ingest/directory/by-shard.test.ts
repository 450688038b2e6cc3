import fc from "fast-check";
import { Elsewhere, openShards } from "../../../ingest/directory/by-shard.js";
import type { DeviceEntry } from "../../../ingest/directory/entries.js";
import { shardsOf } from "../../shards.js";
import { assert, suite } from "../../suite.js";

/** Devices 1 to n; each hangs below an earlier one, or below none (null). */
type Forest = readonly (number | null)[];

const forests: fc.Arbitrary<Forest> = fc
  .array(fc.nat(), { minLength: 1, maxLength: 60 })
  .map((seeds) => seeds.map((seed, i) => (i === 0 || seed % 3 === 0 ? null : 1 + (seed % i))));

function directoryOf(forest: Forest, away: ReadonlySet<number> = new Set()) {
  const entries = forest.map((parent, i) => ({ id: i + 1, device: { parent } }) as DeviceEntry);
  const find = (id: number) => entries[id - 1];
  return {
    entries,
    get: async (id: number) => find(id),
    peek: (id: number) => (away.has(id) ? undefined : find(id)),
  };
}

/** Said otherwise than by walking up: each device has the colour of the one above it. */
function topmost(forest: Forest): number[] {
  const tops: number[] = [];
  for (const [i, parent] of forest.entries()) tops.push(parent === null ? i + 1 : (tops[parent - 1] ?? 0));
  return tops;
}

const names = (count: number) => Array.from({ length: count }, (_, i) => `shard ${i}`);

suite("the shard of a device", (test) => {
  test("is that of the topmost device above it, for every device", () =>
    fc.assert(
      fc.asyncProperty(forests, fc.integer({ min: 2, max: 9 }), async (forest, count) => {
        // Trees of this height are within what is walked.
        fc.pre(heights(forest).every((height) => height <= 32));
        const directory = directoryOf(forest);
        const shards = shardsOf(names(count), directory);
        const tops = topmost(forest);
        for (const [i, entry] of directory.entries.entries()) {
          const expected = `shard ${(tops[i] ?? 0) % count}`;
          assert.is(await shards.of(entry), expected);
          assert.is(shards.peek(entry), expected);
          assert.is(await shards.map((name) => name.toUpperCase()).of(entry), expected.toUpperCase());
        }
      }),
    ));

  test("is not known at once while a device above is not cached", async () => {
    const directory = directoryOf([null, 1, 2], new Set([1]));
    const shards = shardsOf(names(2), directory);
    const [top, , below] = directory.entries as [DeviceEntry, DeviceEntry, DeviceEntry];
    assert.is(shards.peek(below), null);
    assert.is(shards.peek(top), "shard 1");
    assert.is(await shards.of(below), "shard 1");
  });

  test("is the device's own once the one above it is gone, and ends in a ring", async () => {
    const gone = { id: 5, device: { parent: 4 } } as DeviceEntry;
    const none = { get: async () => undefined, peek: () => undefined };
    assert.is(await shardsOf(names(4), none).of(gone), "shard 1");
    const ring = directoryOf([2, 1]);
    const [first] = ring.entries as [DeviceEntry];
    const shards = shardsOf(names(2), ring);
    assert.is(await shards.of(first), shards.peek(first));
  });

  test("with one shard is that one, and nobody is asked", async () => {
    const ask = () => {
      throw new Error("asked");
    };
    const only = shardsOf(["only"], { get: ask, peek: ask });
    const device = { id: 7, device: { parent: 6 } } as DeviceEntry;
    assert.equal([await only.of(device), only.peek(device), only.all], ["only", "only", ["only"]]);
  });

  test("is elsewhere before the shard has come and after it has gone, also in what has been made of it", async () => {
    const directory = directoryOf([null, null, 2]);
    const holders = new Map<number, number>([[7, 3]]);
    const of = (shard: number) => holders.get(shard) ?? null;
    const shards = openShards<string>({ numbers: [5, 7], holders: { of, areKnown: () => true }, directory });
    const [first, , below] = directory.entries as [DeviceEntry, DeviceEntry, DeviceEntry];
    const made: string[] = [];
    const lengths = shards.map((name) => made.push(name));
    const again = lengths.map((length) => `${length}th`);
    const each: string[] = [];
    shards.each((name) => void each.push(name));
    const all = () => [shards.all, lengths.all, again.all];

    assert.equal(await again.of(first), new Elsewhere(3, 7));
    assert.equal(again.peek(below), new Elsewhere(null, 5));
    assert.equal(all(), [[], [], []]);
    shards.add(7, "seven");
    assert.equal([await shards.of(first), await lengths.of(first), again.peek(first)], ["seven", 1, "1th"]);
    assert.equal(await again.of(below), new Elsewhere(null, 5));
    shards.add(5, "five");
    assert.equal(await again.of(below), "2th");
    assert.equal(all(), [
      ["seven", "five"],
      [1, 2],
      ["1th", "2th"],
    ]);
    shards.remove(7);
    assert.equal([shards.peek(first), again.peek(first)], [new Elsewhere(3, 7), new Elsewhere(3, 7)]);
    assert.equal(all(), [["five"], [2], ["2th"]]);
    shards.add(7, "seven again");
    assert.equal([again.peek(first), made], ["3th", ["seven", "five", "seven again"]]);
    assert.equal(each, made);
    assert.equal(shards.isSingle, false);
  });

  test("is at one place, as it is known of late", () => {
    const holders = new Map<number, number>([
      [6, 2],
      [7, 3],
      [8, 2],
    ]);
    let areKnown = true;
    const shards = openShards<string>({
      numbers: [4, 5, 6, 7, 8],
      holders: { of: (shard) => holders.get(shard) ?? null, areKnown: () => areKnown },
      directory: directoryOf([null]),
    });
    const elsewhere = new Map([
      [2, [6, 8]],
      [3, [7]],
    ]);
    assert.equal(shards.places(), { here: [], elsewhere, nowhere: [4, 5] });
    shards.add(4, "four");
    const named = shards.map((name) => name.length);
    assert.equal(named.places(), { here: [4], elsewhere, nowhere: [5] });
    areKnown = false;
    assert.equal(shards.places(), { here: [], elsewhere, nowhere: [4, 5] });
    // Taken by another, which is known before it is closed here.
    areKnown = true;
    holders.set(4, 3);
    assert.equal(shards.places().here, []);
    assert.equal(shards.places().elsewhere.get(3), [4, 7]);
  });

  test("is waited for while nobody has it, until it is here or elsewhere", async () => {
    const directory = directoryOf([null, null]);
    const holders = new Map<number, number>();
    const of = (shard: number) => holders.get(shard) ?? null;
    const shards = openShards<string>({ numbers: [5, 7], holders: { of, areKnown: () => true }, directory });
    const lengths = shards.map((name) => name.length);
    const [first, second] = directory.entries as [DeviceEntry, DeviceEntry];
    const found = Promise.all([
      shards.whenPlaced(first),
      lengths.whenPlaced(first),
      lengths.whenPlaced(second),
    ]);
    shards.look();
    assert.equal(await lengths.of(first), new Elsewhere(null, 7));
    shards.add(7, "seven");
    holders.set(5, 3);
    shards.look();
    assert.equal(await found, ["seven", 5, new Elsewhere(3, 5)]);
    shards.remove(7);
    const none = shards.whenPlaced(first);
    shards.endWaits();
    assert.equal(await none, new Elsewhere(null, 7));
    assert.equal(await shards.whenPlaced(first), new Elsewhere(null, 7));
  });
});

function heights(forest: Forest): number[] {
  const found: number[] = [];
  for (const parent of forest) found.push(parent === null ? 0 : 1 + (found[parent - 1] ?? 0));
  return found;
}
