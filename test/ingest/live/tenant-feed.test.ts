import { type MessageEvent, sumRefusals } from "../../../ingest/live/tenant-events.js";
import { createTenantFeed, type TenantFeed, tenantFeedDefaults } from "../../../ingest/live/tenant-feed.js";
import type { TopicFeedOptions } from "../../../ingest/live/topic-feed.js";
import type { Change } from "../../../store/metadata/db/changes.js";
import type { Point } from "../../../store/series/series.js";
import { assert, suite, until } from "../../suite.js";

const message = (eventID: number, messageTopic = "t"): MessageEvent => ({
  topic: "messages",
  deviceIntID: 1,
  deviceID: "d",
  eventID,
  messageTopic,
  size: 1,
  time: eventID,
  points: 0,
  refused: [],
});

const point = (tenant: number, deviceID: string, value: number | string): Point => ({
  series: { tenant, productID: "p", deviceID, field: "temp", kind: "number" },
  time: 1,
  value,
  serverStamped: false,
});

function opened(options: Partial<TopicFeedOptions> = {}): TenantFeed {
  return createTenantFeed({ ...tenantFeedDefaults, ...options });
}

suite("feed of a tenant", (test) => {
  test("receives what its streams ask for, of its own tenant", () => {
    const feed = opened();
    feed.tell(1, message(1));
    const mine = feed.subscribe(1, ["messages"], null);
    const theirs = feed.subscribe(2, ["messages", "points"], null);
    feed.tell(1, message(2));
    feed.tell(1, {
      topic: "presence",
      deviceIntID: 1,
      deviceID: "d",
      deviceStatus: 1,
      time: 1,
    });
    theirs?.watch(new Set(["b"]));
    feed.publish([point(1, "b", 1), point(2, "a", 2), point(2, "b", 3)]);
    assert.equal(
      mine?.take(1e6).map((one) => one.topic === "messages" && one.eventID),
      [2],
    );
    assert.equal(
      theirs?.take(1e6).map((one) => one.topic === "points" && [one.deviceID, one.value]),
      [["b", 3]],
    );
    assert.equal(
      [feed.wants("messages", 1), feed.wants("alerts", 1), feed.wants("points"), feed.tenantsOf("messages")],
      [true, false, true, [1, 2]],
    );
    feed.close();
    assert.equal([mine?.open, theirs?.open, feed.subscribe(1, ["messages"], null)], [false, false, null]);
  });

  test("holds what is asked for a while after the stream has gone, then nothing", async () => {
    const feed = opened({ heldMs: 20 });
    const first = feed.subscribe(1, ["points"], null);
    first?.watch(new Set(["a"]));
    const seen = feed.newest;
    first?.close();
    first?.close();
    feed.publish([point(1, "a", 1)]);
    const back = feed.subscribe(1, ["points"], seen);
    assert.equal([back?.resumed, back?.take(1e6).length], [true, 1]);
    back?.watch(new Set(["b"]));
    await until(
      () => {
        const before = feed.newest;
        feed.publish([point(1, "a", 2)]);
        return feed.newest === before;
      },
      { what: "an end of what the first asked for" },
    );
    feed.publish([point(1, "b", 3)]);
    assert.equal(
      back
        ?.take(1e6)
        .map((one) => one.topic === "points" && one.value)
        .at(-1),
      3,
    );
    back?.close();
    await until(() => !feed.wants("points"), { what: "nobody to ask for points" });
    assert.is(feed.counts().bytes, 0);
    assert.is(feed.subscribe(1, ["points"], seen)?.resumed, false);
  });

  test("a reader that falls behind is disconnected; a tenant has its share of the bytes and of the streams", () => {
    const feed = opened({ topicBytesMax: 10_000, bytesMax: 40_000, listenersOfTenantMax: 2 });
    const slow = feed.subscribe(1, ["messages"], null);
    const theirs = feed.subscribe(2, ["messages"], null);
    for (let i = 0; i < 1000; i++) feed.tell(1, message(i, "x".repeat(1000)));
    assert.equal([slow?.open, theirs?.open, feed.counts().letGo], [false, true, 1]);
    assert.ok(feed.counts().bytes <= 12_500);
    feed.tell(2, message(1));
    assert.is(theirs?.take(1e6).length, 1);
    assert.ok(feed.subscribe(2, ["messages"], null) !== null);
    assert.is(feed.subscribe(2, ["messages"], null), null);
    feed.close();
  });

  test("knows when devices or groups of the tenant have changed", () => {
    const feed = opened();
    const stream = feed.subscribe(1, ["points"], null);
    const change = (tenant: number, entity: string) => feed.changed({ tenant, entity } as Change);
    assert.is(stream?.generation, 0);
    for (const entity of ["device", "group_member", "device_group"]) change(1, entity);
    change(1, "metric");
    change(2, "device");
    assert.is(stream?.generation, 3);
    feed.close();
  });

  test("the first ten refusals of a message are sent, each reason and key once", () => {
    const many = Array.from({ length: 30 }, (_, i) => ({
      reason: "unknown" as const,
      count: 1,
      key: `k${i % 15}`,
    }));
    const told = sumRefusals([{ reason: "format", count: 2 }, ...many]);
    assert.is(told.length, 10);
    assert.equal(told[0], { reason: "format", count: 2 });
    assert.equal(told[1], { reason: "unknown", key: "k0", count: 2 });
    const long = sumRefusals([{ reason: "unknown", count: 1, key: `${"x".repeat(63)}\u{1f600}` }]);
    assert.is(long[0]?.key?.length, 64);
    assert.ok(long[0]?.key?.isWellFormed());
  });
});
