import { createLiveFeed, type LiveOptions, liveDefaults } from "../../ingest/live.js";
import type { Point } from "../../store/series.js";
import { assert, suite, until } from "../suite.js";

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
    assert.equal(times(mine?.take(2)), [1, 2]);
    assert.equal(times(mine?.take(10)), [3]);
    assert.equal(mine?.take(10), []);
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

  test("who falls behind is let go, and only he; he gets back what he missed", () => {
    const feed = open({ queueEventsMax: 5 });
    const [slow, quick] = [feed.subscribe(device, null), feed.subscribe(device, null)];
    feed.publish(points(1, 4));
    const [first] = quick?.take(100) ?? [];
    feed.publish(points(5, 4));
    assert.equal([slow?.open, quick?.open], [false, true]);
    assert.equal(feed.counts(), { listeners: 1, queued: 4, letGo: 1 });
    assert.equal(times(quick?.take(100)), [5, 6, 7, 8]);
    assert.equal(slow?.take(100), []);
    assert.equal(times(feed.subscribe(device, first?.number ?? 0)?.missed), [2, 3, 4, 5, 6, 7, 8]);
    feed.close();
  });

  test("queues are bounded together, listeners by tenant and in all", () => {
    const feed = open({ queuedEventsMax: 10, listenersMax: 4, listenersOfTenantMax: 3 });
    const some = [1, 2, 3].map(() => feed.subscribe(device, null));
    assert.is(feed.subscribe(device, null), null);
    feed.publish(points(1, 6));
    const open3 = some.filter((one) => one?.open === true);
    assert.ok(open3.length >= 1 && open3.length < 3);
    for (const one of some) one?.close();
    const others = [1, 2].map((tenant) => feed.subscribe({ ...device, tenant }, null));
    assert.ok(
      others.every((one) => one !== null),
      "closing makes room",
    );
    const more = [1, 1, 2].map((tenant) => feed.subscribe({ ...device, tenant }, null) !== null);
    assert.equal(more, [true, true, false]);
    feed.close();
  });

  test("what was missed is known from the first listener on, a while behind the last, and no longer", async () => {
    const feed = open({ keptEventsMax: 3, keptMs: 20 });
    feed.publish(points(1, 3));
    const first = feed.subscribe(device, null);
    assert.is(first?.missed, null, "a new listener has missed nothing");
    feed.publish(points(10, 2));
    const [seen] = first?.take(10) ?? [];
    first?.close();
    feed.publish(points(12, 1));
    const again = feed.subscribe(device, seen?.number ?? 0);
    assert.equal(times(again?.missed), [11, 12]);
    assert.equal(again?.take(10), [], "and not twice");
    feed.publish(points(20, 20));
    assert.is(feed.subscribe(device, seen?.number ?? 0)?.missed, null, "too long ago");
    assert.is(feed.subscribe(device, 1e9)?.missed, null, "a number that was never given");
    const last = again?.take(100).at(-1);
    assert.equal(feed.subscribe(device, last?.number ?? 0)?.missed, []);
    feed.close();

    const forgetful = open({ keptMs: 1 });
    const listener = forgetful.subscribe(device, null);
    forgetful.publish(points(1, 1));
    const [event] = listener?.take(1) ?? [];
    listener?.close();
    const back = () => {
      const next = forgetful.subscribe(device, event?.number ?? 0);
      next?.close();
      forgetful.publish(points(2, 1));
      return next?.missed === null;
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
