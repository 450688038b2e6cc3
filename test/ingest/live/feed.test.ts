import { createLiveFeed, type LiveOptions, liveDefaults } from "../../../ingest/live/feed.js";
import { liveEvent } from "../../../ingest/live/log.js";
import type { Point } from "../../../store/series/series.js";
import { assert, suite, until } from "../../suite.js";

const device = { tenant: 1, productID: "p", deviceID: "d" };

function points(from: number, count: number, of: Partial<typeof device> = {}): Point[] {
  const series = { ...device, ...of, field: "temp", kind: "number" } as const;
  return Array.from({ length: count }, (_, i) => ({
    series,
    time: from + i,
    value: i,
    serverStamped: false,
  }));
}

function texts(from: number, count: number, length: number, of: Partial<typeof device> = {}): Point[] {
  const series = { ...device, ...of, field: "note", kind: "text" } as const;
  return Array.from({ length: count }, (_, i) => ({
    series,
    time: from + i,
    value: "x".repeat(length),
    serverStamped: false,
  }));
}

const all = Number.POSITIVE_INFINITY;
/** Size of an event with a number. */
const eventBytes = liveEvent(1, "temp", { time: 1, value: 1 }).bytes;
const open = (options: Partial<LiveOptions> = {}) => createLiveFeed({ ...liveDefaults, ...options });
const times = (events: readonly { time: number }[] | null | undefined) =>
  events?.map(({ time }) => time) ?? null;

suite("live feed", (test) => {
  test("hands over the points of the device, in their order, and of no other tenant, product or device", () => {
    const feed = open();
    const mine = feed.subscribe(device, null);
    feed.publish([
      ...points(1, 2),
      ...points(10, 1, { tenant: 2 }),
      ...points(20, 1, { productID: "q" }),
      ...points(30, 1, { deviceID: "e" }),
      ...points(3, 1),
    ]);
    assert.equal(times(mine?.take(2 * eventBytes)), [1, 2]);
    assert.equal(times(mine?.take(1)), [3], "at least one");
    assert.equal(mine?.take(all), []);
    feed.close();
  });

  test("wakes who waits, and says when nothing came", async () => {
    const feed = open();
    const mine = feed.subscribe(device, null);
    assert.is(await mine?.wait(5), false);
    const waiting = mine?.wait(60_000);
    feed.publish(points(1, 1));
    assert.is(await waiting, true);
    assert.is(await mine?.wait(60_000), true, "what waits already");
    const closing = feed.subscribe(device, null)?.wait(60_000);
    feed.close();
    assert.is(await closing, true);
    assert.is(mine?.open, false);
    assert.is(feed.subscribe(device, null), null, "after the end");
  });

  test("only a reader that falls behind is disconnected; it gets back what it missed", () => {
    const feed = open({ deviceBytesMax: 8 * eventBytes });
    const [slow, quick] = [feed.subscribe(device, null), feed.subscribe(device, null)];
    feed.publish(points(1, 4));
    assert.equal(times(quick?.take(all)), [1, 2, 3, 4]);
    feed.publish(points(5, 5));
    assert.equal([slow?.open, quick?.open], [false, true]);
    assert.is(feed.counts().letGo, 1);
    assert.is(feed.counts().queued, 5);
    const seen = quick?.take(all) ?? [];
    assert.equal(times(seen), [5, 6, 7, 8, 9]);
    assert.equal(slow?.take(all), []);
    const again = feed.subscribe(device, seen[0]?.number ?? 0);
    assert.is(again?.resumed, true);
    assert.equal(times(again?.take(all)), [6, 7, 8, 9]);
    feed.close();
  });

  test("an event is held and encoded once, however many listen, and never more than its device may hold", () => {
    const feed = open({ deviceBytesMax: 100_000 });
    const some = Array.from({ length: 200 }, () => feed.subscribe(device, null));
    const long = texts(1, 1, 60_000);
    feed.publish(long);
    assert.ok(feed.counts().bytes < 61_000, `${feed.counts().bytes} bytes`);
    assert.is(feed.counts().queued, 200);
    const [first, ...others] = some.slice(0, 3).map((one) => one?.take(all)[0]?.value);
    assert.is(new TextDecoder().decode(first as Uint8Array), JSON.stringify(long[0]?.value));
    assert.ok(others.every((value) => value === first));
    feed.publish(texts(2, 100, 30_000));
    assert.is(feed.counts().listeners, 0, "more than the device may hold came at once");
    feed.close();
    assert.equal([feed.counts().bytes, feed.counts().letGo], [0, 200]);
  });

  test("bytes are bounded by tenant and in all: one tenant's unread feeds leave the others their room", () => {
    const bytesMax = 1_000_000;
    const feed = open({ deviceBytesMax: 400_000, bytesMax });
    const of = (tenant: number, n: number) => ({ tenant, productID: "p", deviceID: `d${n}` });
    const greedy = Array.from({ length: 20 }, (_, n) => feed.subscribe(of(1, n), null));
    const modest = feed.subscribe(of(2, 0), null);
    for (let round = 0; round < 10; round++) {
      for (let n = 0; n < 20; n++) feed.publish(texts(round, 1, 30_000, of(1, n)));
      assert.ok(feed.counts().bytes <= bytesMax * (7 / 8), `${feed.counts().bytes} bytes`);
    }
    assert.ok(greedy.some((one) => one?.open === false));
    for (let round = 0; round < 3; round++) feed.publish(texts(round, 1, 30_000, of(2, 0)));
    assert.equal(times(modest?.take(all)), [0, 1, 2]);
    assert.is(modest?.open, true);
    for (const one of [...greedy, modest]) one?.close();
    feed.close();
    assert.is(feed.counts().bytes, 0);
  });

  test("what is on its way to a listener counts until it takes again, or goes", () => {
    const feed = open({ deviceBytesMax: 1000, bytesMax: 4000 });
    const mine = feed.subscribe(device, null);
    feed.publish(points(1, 5));
    const log = 5 * eventBytes;
    assert.is(mine?.take(2 * eventBytes).length, 2);
    assert.is(feed.counts().bytes, log + 2 * eventBytes);
    assert.is(mine?.take(all).length, 3);
    assert.is(feed.counts().bytes, log + 3 * eventBytes);
    assert.is(mine?.take(all).length, 0);
    assert.is(feed.counts().bytes, log);
    const older = [liveEvent(0, "temp", { time: 1, value: "x".repeat(500) })];
    assert.is(mine?.hold(older), true);
    assert.ok(feed.counts().bytes > log + 500);
    assert.is(mine?.hold([liveEvent(0, "temp", { time: 1, value: "x".repeat(5000) })]), false);
    assert.is(mine?.open, false);
    assert.is(feed.counts().letGo, 1);
    mine?.giveUp();
    assert.is(feed.counts().letGo, 1, "once");
    feed.close();
    assert.is(feed.counts().bytes, 0);
  });

  test("listeners are bounded by tenant and in all", () => {
    const feed = open({ listenersMax: 4, listenersOfTenantMax: 3 });
    const some = [1, 2, 3].map(() => feed.subscribe(device, null));
    assert.is(feed.subscribe(device, null), null);
    for (const one of some) one?.close();
    const others = [1, 2].map((tenant) => feed.subscribe({ ...device, tenant }, null));
    assert.ok(
      others.every((one) => one !== null),
      "closing frees a place",
    );
    const more = [1, 1, 2].map((tenant) => feed.subscribe({ ...device, tenant }, null) !== null);
    assert.equal(more, [true, true, false]);
    feed.close();
  });

  test("what was missed is known from the first listener on, a while after the last, and no longer", async () => {
    const feed = open({ deviceBytesMax: 8 * eventBytes, heldMs: 20 });
    feed.publish(points(1, 3));
    const first = feed.subscribe(device, null);
    assert.is(first?.resumed, false, "a new listener has missed nothing");
    feed.publish(points(10, 2));
    const [seen] = first?.take(all) ?? [];
    first?.close();
    feed.publish(points(12, 1));
    const again = feed.subscribe(device, seen?.number ?? 0);
    assert.equal(times(again?.take(all)), [11, 12]);
    assert.equal(again?.take(all), [], "and not twice");
    feed.publish(points(20, 20));
    assert.is(feed.subscribe(device, seen?.number ?? 0)?.resumed, false, "too long ago");
    assert.is(feed.subscribe(device, 1e9)?.resumed, false, "a number that was never given");
    const fresh = feed.subscribe(device, null);
    feed.publish(points(40, 1));
    const last = fresh?.take(all).at(-1);
    const next = feed.subscribe(device, last?.number ?? 0);
    assert.equal([next?.resumed, next?.take(all)], [true, []]);
    feed.close();

    const forgetful = open({ heldMs: 1 });
    const listener = forgetful.subscribe(device, null);
    forgetful.publish(points(1, 1));
    const [event] = listener?.take(all) ?? [];
    listener?.close();
    const back = () => {
      const one = forgetful.subscribe(device, event?.number ?? 0);
      one?.close();
      forgetful.publish(points(2, 1));
      return one?.resumed === false;
    };
    await until(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return back();
      },
      { what: "the device to be forgotten" },
    );
    forgetful.close();
  });
});
