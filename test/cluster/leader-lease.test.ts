/** Only one process at a time holds the lease, even when processes die, leave, pause or lose the metadata. */
import { startSeat } from "../../src/cluster/leader-lease.js";
import { waitUntil } from "../../store/lib/abortable.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { createStillClock } from "../clock.js";
import { assert, openTempDir, suite } from "../suite.js";

const number = 1000;
const beatMs = 2000;

suite("a seat of the cluster", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  let clock: ReturnType<typeof createStillClock>;
  let sleepers: { readonly owner: string; readonly at: number; wake(): void }[] = [];
  /** Those that get no time. */
  let paused = new Set<string>();
  let cutOff = new Set<string>();
  /** Those that cannot do the leader's work. */
  let unable = new Set<string>();
  let events: string[] = [];
  let underWay = 0;
  let lastTerm = 0;

  test.before.each(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: true });
    clock = createStillClock();
    sleepers = [];
    paused = new Set();
    cutOff = new Set();
    unable = new Set();
    events = [];
    lastTerm = 0;
  });
  test.after.each(async () => {
    await db.close();
    await dir.close();
  });

  /** Until what has been asked of the database has been answered, and nothing more is asked. */
  async function settle(): Promise<void> {
    for (let quiet = 0; quiet < 5; quiet++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (underWay > 0) quiet = 0;
    }
  }

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += beatMs / 2) {
      clock.pass(beatMs / 2);
      for (const sleeper of sleepers) {
        if (sleeper.at > clock.monotonic() || paused.has(sleeper.owner)) continue;
        sleepers = sleepers.filter((one) => one !== sleeper);
        sleeper.wake();
        await settle();
      }
    }
  }

  async function sit(owner: string) {
    const reached = async <T>(work: () => Promise<T>): Promise<T> => {
      if (cutOff.has(owner)) throw new Error("away");
      underWay++;
      return work().finally(() => underWay--);
    };
    const seat = startSeat({
      db: {
        write: (statements) => reached(() => db.write(statements)),
        snapshot: (statements) => reached(() => db.snapshot(statements)),
      },
      number,
      owner,
      monotonic: clock.monotonic,
      sleep: (ms, signal) =>
        waitUntil(signal, (wake) => void sleepers.push({ owner, at: clock.monotonic() + ms, wake })),
      isAble: () => !unable.has(owner),
      onTaken: (term) => {
        assert.ok(term > lastTerm, "terms ascend");
        lastTerm = term;
        events.push(`${owner} has it`);
      },
      onLost: () => events.push(`${owner} has it no more`),
    });
    await settle();
    return seat;
  }

  test("the first has it; one that is killed is followed once it has not beaten for six seconds, not before", async () => {
    await sit("a");
    await sit("b");
    await sit("c");
    await pass(30_000);
    assert.equal(events, ["a has it"]);
    paused.add("a");
    await pass(5000);
    assert.equal(events, ["a has it"]);
    await pass(5000);
    assert.is(events.length, 2);
    assert.match(events[1] ?? "", /^[bc] has it$/);
  });

  test("one that leaves is followed at the next beat, and others leave as they are", async () => {
    const a = await sit("a");
    const b = await sit("b");
    await a.close();
    await pass(beatMs);
    assert.equal(events, ["a has it", "a has it no more", "b has it"]);
    await b.close();
    await b.close();
    await sit("c");
    assert.equal(events.slice(3), ["b has it no more", "c has it"]);
  });

  test("one that was paused finds at its next look that it has it no more", async () => {
    const a = await sit("a");
    await sit("b");
    paused.add("a");
    await pass(12_000);
    assert.equal(events, ["a has it", "b has it"]);
    assert.is(await a.check(), false);
    assert.equal(events, ["a has it", "b has it", "a has it no more"]);
    paused.delete("a");
    await pass(12_000);
    assert.is(events.length, 3);
  });

  test("without the metadata it stays where it is; who cannot look does not know", async () => {
    const a = await sit("a");
    await sit("b");
    for (const one of ["a", "b"]) cutOff.add(one);
    await pass(60_000);
    assert.equal(events, ["a has it"]);
    assert.is(await a.check(), false);
    cutOff.delete("b");
    cutOff.delete("a");
    await pass(3 * beatMs);
    assert.equal(events, ["a has it"]);
    assert.is(await a.check(), true);
  });

  test("one that is not able for ten seconds is followed by one that is", async () => {
    await sit("a");
    await sit("b");
    unable.add("a");
    await pass(8000);
    unable.delete("a");
    await pass(8000);
    unable.add("a");
    await pass(8000);
    assert.equal(events, ["a has it"]);
    await pass(10_000);
    assert.equal(events.toSorted(), ["a has it", "a has it no more", "b has it"]);
  });

  test("while none is able it stays where it is, and is taken by none where it is free; then by the first that is", async () => {
    await sit("a");
    await sit("b");
    const c = await sit("c");
    for (const one of ["a", "b", "c"]) unable.add(one);
    await pass(60_000);
    assert.equal(events, ["a has it"]);
    paused.add("a");
    await pass(20_000);
    assert.is(await c.check(), false);
    assert.equal(events, ["a has it"]);
    unable.delete("b");
    await pass(2 * beatMs);
    assert.equal(events, ["a has it", "b has it"]);
  });
});
