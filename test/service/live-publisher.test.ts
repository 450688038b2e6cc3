/** Events that are published of a shard that another process had. */
import { createShardPublisher, type LivePublisher } from "../../src/service/live-publisher.js";
import { journalRecord } from "../store/journal/support.js";
import { assert, suite } from "../suite.js";

/** Records what is published, in order: ids of messages, values of points, devices that come and go, `missed`. */
function toldOf() {
  const told: unknown[] = [];
  const telling: LivePublisher = {
    message: (_, { id }) => void told.push(id),
    points: (points) => void told.push(...points.map(({ value }) => value)),
    presence: (device, status) => void told.push(`${device}: ${status}`),
    missed: () => void told.push("missed"),
  };
  return { told, telling };
}

const point = (value: number) => ({ value }) as never;

/** Decodes the messages of these ids, and stores their points, as the follower of a journal does. */
function take(telling: ReturnType<typeof createShardPublisher>, ...ids: readonly number[]): void {
  for (const id of ids) telling.message(id - 1, journalRecord(id, id), undefined, null);
  telling.points(ids.map((id) => point(id / 10)));
  telling.settled(ids.at(-1) ?? 0);
}

suite("events that are published of a shard", (test) => {
  test("that nobody had before is all of it", () => {
    const { told, telling } = toldOf();
    const shard = createShardPublisher(telling, { lastID: 0, isBroken: false });
    shard.settled(0);
    shard.presence(7, 1);
    take(shard, 1, 2);
    assert.equal(told, ["7: 1", 1, 2, 0.1, 0.2]);
  });

  test("that was given in order is what has come since, and nothing was missed", () => {
    const { told, telling } = toldOf();
    const shard = createShardPublisher(telling, { lastID: 5, isBroken: false });
    shard.settled(5);
    take(shard, 6, 7);
    assert.equal(told, [6, 7, 0.6, 0.7]);
  });

  test("whose last records are no messages is the same", () => {
    const { told, telling } = toldOf();
    const shard = createShardPublisher(telling, { lastID: 5, isBroken: false });
    shard.settled(3);
    shard.points([]);
    shard.settled(5);
    take(shard, 6);
    assert.equal(told, [6, 0.6]);
  });

  test("with messages that may have been published or not: those are not published again, but missed once they can be read", () => {
    const { told, telling } = toldOf();
    const shard = createShardPublisher(telling, { lastID: 5, isBroken: false });
    shard.settled(2);
    take(shard, 3, 4);
    assert.equal(told, []);
    // Points that are stored together: whose they are is not known.
    take(shard, 5, 6);
    assert.equal(told, [6, "missed"]);
    take(shard, 7);
    assert.equal(told, [6, "missed", 7, 0.7]);
  });

  test("whose devices may have gone without a word is missed as well", () => {
    const { told, telling } = toldOf();
    const shard = createShardPublisher(telling, { lastID: 5, isBroken: true });
    shard.settled(3);
    shard.settled(5);
    assert.equal(told, ["missed"]);
  });

  test("that has been lost to another is nothing more", () => {
    const { told, telling } = toldOf();
    const shard = createShardPublisher(telling, { lastID: 5, isBroken: true });
    shard.settled(3);
    shard.end();
    shard.presence(7, 0);
    take(shard, 4, 5, 6);
    take(shard, 7);
    assert.equal(told, []);
  });
});
