/** What nodes say to each other while a shard goes from one to the other. */
import { join } from "node:path";
import { type MovingShards, startMovingShards } from "../../src/service/moving-shards.js";
import { waitUntil } from "../../store/lib/abortable.js";
import { systemClock } from "../../store/lib/clock.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { assert, suite, until, withTempDir } from "../suite.js";

const unused = () => undefined;
const log = { debug: unused, info: unused, warn: unused, error: unused };
const shards = 3;
const numbers = [1, 2] as const;

suite("shards that move between nodes", (test) => {
  test("one that is given is copied by the other while it is open, nobody's for it before it is closed, and found as soon as it is open again", () =>
    withTempDir(async (dir) => {
      const url = `file:${join(dir, "metadata.db")}`;
      const dbs: Db[] = [];
      const nodes = new Map<number, MovingShards>();
      const open = new Map<number, Set<number>>(numbers.map((number) => [number, new Set()]));
      /** Who had the shard for the other node when it was closed here. */
      const seenAtClose: unknown[] = [];
      /** What became of shards, in its order. */
      const order: string[] = [];
      /** By node: ends its waits. */
      const wakes = new Map<number, () => void>();
      let looks = 0;
      let ends = 0;
      async function start(number: number): Promise<void> {
        const db = await openDb({ url, shared: true });
        dbs.push(db);
        const other = number === 1 ? 2 : 1;
        const own = open.get(number) as Set<number>;
        const node = await startMovingShards({
          settings: { self: { number }, nodes: numbers.map((one) => ({ number: one })) } as never,
          identity: { number, owner: `process ${number}` },
          shards,
          db,
          brokers: { ask: async () => undefined, close: () => undefined },
          copyShard: async (shard) => {
            order.push(`copied at ${number}, open at ${open.get(other)?.has(shard) ? other : "none"}`);
          },
          set: {
            open: async (shard) => {
              order.push(`open at ${number}`);
              own.add(shard);
            },
            close: async (shard) => {
              order.push(`closed at ${number}`);
              seenAtClose.push(nodes.get(other)?.holderOf(shard));
              own.delete(shard);
              // It still goes to the other.
              if (seenAtClose.length === 1) throw new Error("one of its files cannot be closed");
            },
            pipelines: { look: () => void looks++, endWaits: () => void ends++ } as never,
          },
          cluster: {
            others: [other],
            call: async (_, body) => {
              const { call, node: from, shard } = body as { call: string; node: number; shard: number };
              const asked = nodes.get(other);
              if (call === "gives") asked?.gives(from, shard);
              else if (call === "copyAhead") return [await asked?.copyAhead(shard)];
              else await asked?.refresh();
              return [];
            },
          },
          clock: systemClock,
          log,
          fatal: unused,
          sleep: (_, signal) => waitUntil(signal, (wake) => wakes.set(number, wake)),
        });
        nodes.set(number, node);
      }
      const held = (number: number): number => open.get(number)?.size ?? 0;

      await start(1);
      await until(() => held(1) === shards, { what: "all shards at the first" });
      order.length = 0;
      await start(2);
      await until(() => held(2) === 1, { what: "the share of the second" });
      const [moved = -1] = open.get(2) as Set<number>;
      assert.equal(seenAtClose, [null]);
      assert.equal(order, ["copied at 2, open at 1", "closed at 1", "open at 2"]);
      // It has been notified, and need not wait for its next poll.
      await until(() => nodes.get(1)?.holderOf(moved) === 2, { what: "that it is there" });
      assert.is(nodes.get(1)?.areHoldersKnown(), true);
      // What is said of a shard that the node does not have means nothing, nor of one that there is not.
      nodes.get(1)?.gives(1, moved);
      nodes.get(1)?.gives(2, shards);
      assert.is(nodes.get(1)?.holderOf(moved), 2);
      assert.ok(looks > 0);

      // Nobody has asked for it: the first may die.
      order.length = 0;
      wakes.get(2)?.();
      await until(() => order.length === shards - 1, { what: "copies of what the first has" });
      assert.equal([...new Set(order)], ["copied at 2, open at 1"]);

      order.length = 0;
      await nodes.get(2)?.close();
      assert.equal(seenAtClose, [null, null]);
      assert.is(ends, 1);
      await until(() => held(1) === shards, { what: "all at the first again" });
      assert.equal(order, ["copied at 1, open at 2", "closed at 2", "open at 1"]);
      await nodes.get(1)?.close();
      for (const db of dbs) await db.close();
    }));
});
