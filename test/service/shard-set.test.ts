/** The shards of a process that come and go. */
import { createLivePublisher } from "../../src/service/live-publisher.js";
import { type Opening, openShard } from "../../src/service/shard.js";
import { createShardSet } from "../../src/service/shard-set.js";
import { createOwnedDb } from "../../store/metadata/cluster/owned-db.js";
import { takeShard } from "../../store/metadata/cluster/shard-owners.js";
import { createControlLog, publishStatuses } from "../../store/metadata/commands/control-logs.js";
import type { Db } from "../../store/metadata/db/db.js";
import { storePresence } from "../../store/metadata/devices/presence.js";
import { createCheckpointTrackers } from "../../store/series/influx/checkpoint.js";
import { openConsumerWorld } from "../ingest/consumers/support.js";
import { assert, rejects, suite } from "../suite.js";
import { shardDeps } from "./shard-deps.js";

const never = new AbortController().signal;

suite("a shard that comes", (test) => {
  test("and cannot be opened is begun where another process has come to meanwhile, when it comes again", async () => {
    const stored = { id: 100 };
    const trackers = createCheckpointTrackers(() => ({
      read: async () => stored.id,
      write: async (id) => void Object.assign(stored, { id }),
    }));
    const found: number[] = [];
    const set = createShardSet({
      config: { shards: [3, 4], dataDir: ".", freeBytesMin: 0 },
      storage: {
        metadata: {},
        dbOf: () => undefined,
        series: { letGo: trackers.letGo },
        openShard: async (shard: number) => {
          found.push(await trackers.of(shard).settled());
          throw new Error("its sessions cannot be read");
        },
      },
      consuming: { clock: { now: Date.now } },
      holders: { of: () => null, areKnown: () => true },
    } as never);
    await rejects(() => set.open(3, never));
    stored.id = 900;
    await rejects(() => set.open(3, never));
    assert.equal(found, [100, 900]);
    trackers.close();
  });

  for (const when of ["before", "after"] as const) {
    test(`changes nothing of what the next holder has written, if this process stood still ${when} it was opened`, async () => {
      const world = await openConsumerWorld();
      const { db } = world.store;
      const [a, b] = [
        { number: 1, owner: "a" },
        { number: 2, owner: "b" },
      ];
      /** Another takes the shard: the device connects there, and is sent a command. */
      const goesOnElsewhere = async (): Promise<void> => {
        await takeShard(db, 3, { to: b, from: a, now: 1 });
        const present = { clientIP: "1.1.1.1", connectedAt: 1, keepAlive: 30, seenAt: 1 };
        await storePresence(db, 3, [{ id: world.device, deviceStatus: 1, ...present }]);
        await createControlLog(db, { tenant: world.tenant, username: null, userIntID: null }, 1, {
          ...{ deviceIntID: world.device, groupLogIntID: null, node: 3, topic: "t", qos: 1, ttl: 1000 },
          payload: Buffer.from("on"),
          publishStatus: publishStatuses.issued,
        });
      };
      const deps = await shardDeps(world, world.dir, 3);
      await takeShard(db, 3, { to: a, from: null, now: 1 });
      const unused = () => undefined;
      const set = createShardSet({
        config: { ...deps.config, holdSeries: true },
        storage: {
          ...deps,
          dbOf: (shard: number) => createOwnedDb(db, shard, a),
          series: { letGo: async () => undefined },
          openShard: async (shard: number, opening: Opening) => {
            if (when === "before") await goesOnElsewhere();
            const opened = await openShard(shard, deps, opening);
            if (when === "after") await goesOnElsewhere();
            return opened;
          },
        },
        status: { follow: () => unused },
        telling: createLivePublisher([], world.directory, Date.now),
        consuming: { clock: { now: Date.now } },
        holders: { of: () => null, areKnown: () => true },
      } as never);
      const failure = await rejects(() => set.open(3, never));
      assert.is((failure as { code?: string }).code, "UNAVAILABLE");
      assert.equal(await shownOf(db), { deviceStatus: 1, publishStatus: publishStatuses.issued });
      assert.equal(set.pipelines.all, []);
      await world.close();
    });
  }
});

/** The states of the only device and its only command. */
const shownOf = async (db: Db): Promise<unknown> =>
  db.first("select d.deviceStatus, c.publishStatus from device d join control_log c on c.deviceIntID = d.id");
