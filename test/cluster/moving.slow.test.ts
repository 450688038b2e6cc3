/** What is seen at one node while shards move between the others: lists, figures, live streams, connections, calls. */
import { setTimeout as pause } from "node:timers/promises";
import { connectAsync, type MqttClient } from "mqtt";
import { type EventStream, openEventStream } from "../event-stream.js";
import { provision, type RunningService } from "../flow/support.js";
import { arrived, type LiveStream, named, openLiveStream, pointsOf } from "../live/streams.js";
import { assert, influxKafkaSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { freeze } from "./freeze.js";
import { type Cluster, startCluster, untilSharedOut } from "./three-nodes.js";

const devicesCount = 12;
/** So many of the newest messages are looked for in lists, which have twice as many. */
const lookedFor = 500;

/** A request that needs a shard that moves waits for so long, ms (docs/cluster-failover.md). */
const waitedMs = 3000;

/** What has become of what was tried. */
interface Seen {
  /** Values by device, in the order of their acknowledgement. */
  readonly acknowledged: Map<unknown, number[]>;
  /** Payloads, in the order of their acknowledgement. */
  readonly payloads: string[];
  readonly refused: string[];
  readonly failedReads: string[];
  truncatedLists: number;
  wholeLists: number;
  readonly wrongLists: string[];
  truncatedOverviews: number;
}

const shards = 6;

influxKafkaSuite("a cluster whose shards move", (test, { influx, brokers }) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let devices: Rec[];
  let next = 0;
  test.before(async () => {
    dir = await openTempDir();
    const { addresses } = await brokers();
    cluster = await startCluster(dir.path, await influx(), {
      JOURNAL_URL: `kafka://${addresses.join()}/moving`,
      JOURNAL_SHARDS: String(shards),
    });
    await untilSharedOut(cluster, shards);
    devices = await provision(nodeAt(0), devicesCount);
    await untilWhole();
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  const nodeAt = (place: number): RunningService => cluster.nodes[place] as RunningService;

  async function ask(
    path: string,
    place = 0,
  ): Promise<{ status: number; body: unknown; truncated: boolean }> {
    const answer = await fetch(`${nodeAt(place).addresses.http}/api/v1/${path}`, {
      headers: { authorization: `Bearer ${cluster.apiKey}` },
    });
    const truncated = answer.headers.get("truncated") === "true";
    return { status: answer.status, body: await answer.json(), truncated };
  }
  /** All shards are at nodes that are there. */
  const untilListed = (): Promise<unknown> =>
    until(async () => !(await ask("device_events?_limit=1")).truncated, { what: "a whole list" });
  /** All nodes are there as well. */
  const untilWhole = async (): Promise<void> => {
    await untilListed();
    await until(async () => !(await ask("overview")).truncated, { what: "whole figures" });
  };

  /** Publishes numbers that are never used again by the first node. */
  async function publish(device: Rec, seen: Seen, isOver: () => boolean): Promise<void> {
    const login = { username: String(device.deviceUsername), password: String(device.token) };
    while (!isOver()) {
      let client: MqttClient;
      try {
        client = await connectAsync(nodeAt(0).mqtt, { ...login, reconnectPeriod: 0 }, false);
      } catch (error) {
        seen.refused.push(String(error));
        await pause(100);
        continue;
      }
      const lost = new Promise<never>((_, reject) => {
        client.once("close", () => reject(new Error("lost")));
      });
      lost.catch(() => undefined);
      try {
        while (!isOver()) {
          const n = next++;
          await Promise.race([client.publishAsync("data", `{"n":${n}}`, { qos: 1 }), lost]);
          seen.acknowledged.get(device.deviceID)?.push(n);
          seen.payloads.push(`{"n":${n}}`);
          await Promise.race([pause(200), lost]);
        }
      } catch {
        // Its shard moves: it comes again.
      }
      client.end(true);
    }
  }

  /** Whether it was whole. */
  async function list(seen: Seen, place = 0): Promise<boolean> {
    const before = seen.payloads.slice(-lookedFor);
    const { status, body, truncated } = await ask("device_events?_limit=1000", place);
    assert.is(status, 200);
    const { items } = body as { items: Rec[] };
    if (truncated) seen.truncatedLists++;
    else seen.wholeLists++;
    const shown = new Set(items.map(({ payload }) => payload));
    if (shown.size < items.length) seen.wrongLists.push("a message is there twice");
    const missing = before.filter((one) => !shown.has(one));
    if (!truncated && missing.length > 0) seen.wrongLists.push(`without a word: ${missing.join()}`);
    return !truncated;
  }

  async function read(device: Rec, seen: Seen): Promise<void> {
    const { status, body } = await ask(`device_events?deviceID=${device.deviceID}&_limit=1`);
    if (status !== 200) seen.failedReads.push(`${status} ${JSON.stringify(body)}`);
  }

  /** Everything that is tried at the first node, while something happens to the others. */
  async function during(
    happening: (seen: Seen, stream: LiveStream) => Promise<void>,
  ): Promise<{ seen: Seen; stream: LiveStream }> {
    const seen: Seen = {
      acknowledged: new Map(devices.map(({ deviceID }) => [deviceID, []])),
      payloads: [],
      refused: [],
      failedReads: [],
      truncatedLists: 0,
      wholeLists: 0,
      wrongLists: [],
      truncatedOverviews: 0,
    };
    let over = false;
    const isOver = (): boolean => over;
    const again = async (work: () => Promise<unknown>): Promise<void> => {
      while (!over) {
        await work();
        await pause(50);
      }
    };
    const all = devices.map(({ deviceID }) => deviceID).join(",");
    const stream = await openLiveStream(
      String(nodeAt(0).addresses.http),
      cluster.apiKey,
      `topics=points,messages&deviceID=${all}`,
    );
    await arrived(stream, "hello", 1);
    assert.equal(named(stream, "gap"), []);
    const trying = [
      ...devices.map((device) => publish(device, seen, isOver)),
      ...devices.slice(0, 6).map((device) => again(() => read(device, seen))),
      again(() => list(seen)),
      again(async () => {
        if ((await ask("overview")).truncated) seen.truncatedOverviews++;
      }),
    ];
    const tried = Promise.all(trying);
    try {
      await until(() => seen.payloads.length > devicesCount, { what: "the first messages" });
      await happening(seen, stream);
      await untilWhole();
      const enough = seen.payloads.length + 2 * devicesCount;
      await until(() => seen.payloads.length > enough, { what: "messages after that" });
    } finally {
      over = true;
      await tried;
    }
    return { seen, stream };
  }

  const valuesOf = (stream: LiveStream, deviceID: unknown): number[] =>
    pointsOf(stream).flatMap((one) => (one.deviceID === deviceID ? [Number(one.value)] : []));

  /** The longest time from when a shard began to be closed at one node until it was open at another, ms. */
  function longestMove(processes: readonly RunningService[]): number {
    const lines = processes.flatMap(({ logged }) => logged as readonly Rec[]);
    const at = ({ time }: Rec): number => Date.parse(String(time));
    const moves = lines.flatMap((closed) => {
      if (closed.msg !== "a shard is closed") return [];
      const opened = lines
        .filter(({ msg, shard }) => msg === "a shard is open" && shard === closed.shard)
        .map((open) => at(open) - at(closed) + Number(closed.ms))
        .filter((ms) => ms > 0);
      return opened.length === 0 ? [] : [Math.min(...opened)];
    });
    assert.ok(moves.length > 0);
    return Math.max(...moves);
  }

  /** Asserts that each shard that `from` has closed had been copied to the node that opened it next. */
  function assertCopiedFirst(from: RunningService, processes: readonly RunningService[]): void {
    const at = ({ time }: Rec): number => Date.parse(String(time));
    const said = ({ logged }: RunningService, text: string): Rec[] =>
      (logged as readonly Rec[]).filter(({ msg }) => msg === text);
    const closed = said(from, "a shard is closed");
    assert.ok(closed.length > 0);
    // A shard that is not copied 10 s after a stop began is given anyway.
    const [stop] = said(from, "stopping");
    const patientUntil = stop === undefined ? Number.POSITIVE_INFINITY : at(stop) + 9900;
    for (const one of closed) {
      // Times are whole milliseconds, rounded each.
      const begunAt = at(one) - Number(one.ms) + 2;
      const copies = processes
        .flatMap((node) => said(node, "a shard is copied ahead"))
        .filter((copied) => copied.shard === one.shard && at(copied) <= begunAt);
      assert.ok(
        copies.length > 0 || begunAt > patientUntil,
        `shard ${one.shard} was closed before it was copied`,
      );
    }
  }

  /** Nothing twice; what comes last is there. */
  async function assertToldOnce({ seen, stream }: { seen: Seen; stream: LiveStream }): Promise<void> {
    for (const [deviceID, values] of seen.acknowledged) {
      const last = values.at(-1);
      await until(() => last === undefined || valuesOf(stream, deviceID).includes(last), {
        what: `${last} of ${deviceID}`,
      });
      const told = valuesOf(stream, deviceID);
      assert.is(new Set(told).size, told.length, "no point twice");
    }
    const events = named(stream, "message").map(({ eventID }) => eventID);
    assert.is(new Set(events).size, events.length, "no message twice");
  }

  /** The same, each device's in order. */
  async function assertTold(found: { seen: Seen; stream: LiveStream }): Promise<void> {
    await assertToldOnce(found);
    for (const deviceID of found.seen.acknowledged.keys()) {
      const told = valuesOf(found.stream, deviceID);
      assert.equal(
        told,
        told.toSorted((a, b) => a - b),
      );
    }
  }

  /** Values that were acknowledged and not published, without a gap event between their neighbours. */
  function missedWithoutGap({ seen, stream }: { seen: Seen; stream: LiveStream }): number[] {
    const gaps = stream.events.flatMap(({ event }, at) => (event === "gap" ? [at] : []));
    return [...seen.acknowledged].flatMap(([deviceID, values]) => {
      const told = stream.events.flatMap(({ event, data }, at) =>
        event === "points"
          ? (data as Rec[]).flatMap((one) =>
              one.deviceID === deviceID ? [{ value: Number(one.value), at }] : [],
            )
          : [],
      );
      return values.filter((value) => {
        if (told.some((one) => one.value === value)) return false;
        const before = told.findLast((one) => one.value < value)?.at ?? -1;
        const after = told.find((one) => one.value > value)?.at ?? Number.POSITIVE_INFINITY;
        return !gaps.some((gap) => gap > before && gap < after);
      });
    });
  }

  test("nodes that stop and come back in order: nothing is refused or there twice, and what is missing is said", async () => {
    /** The newest value that each device's own stream has sent, by place of the device. */
    const newest = devices.map(() => -1);
    const ofDevices = await Promise.all(
      devices.map(({ id }, i) =>
        openEventStream(
          `${nodeAt(0).addresses.http}/api/v1/devices/${id}/live`,
          { key: cluster.apiKey },
          ({ data }) => {
            if (data !== undefined) newest[i] = Number((JSON.parse(data) as Rec).value);
          },
        ),
      ),
    );
    const stopped = nodeAt(2);
    const found = await during(async () => {
      await stopped.stop();
      await untilListed();
      await cluster.start(2);
      await until(() => nodeAt(2).logged.some(({ msg }) => msg === "a shard is open"), {
        what: "a shard at the node that is back",
      });
      await untilWhole();
      const since = next;
      const isTold = ({ ended }: EventStream, i: number): boolean => ended || Number(newest[i]) >= since;
      await until(() => ofDevices.every(isTold), { what: "streams of devices that go on, or have ended" });
    });
    for (const stream of ofDevices) stream.close();
    const { seen, stream } = found;
    assert.equal(seen.wrongLists, []);
    assert.ok(seen.wholeLists > 0);
    // On a machine that is too busy to move a shard within that time, some are refused.
    const isFast = longestMove([...cluster.nodes, stopped]) < waitedMs / 2;
    if (isFast) assert.equal([seen.refused, seen.failedReads], [[], []]);
    await assertTold(found);
    assert.equal(missedWithoutGap(found), []);
    // A shard that takes longer to copy is given anyway.
    if (isFast) assertCopiedFirst(stopped, [nodeAt(0), nodeAt(1)]);
    const giver = [nodeAt(0), nodeAt(1)].filter(({ logged }) =>
      logged.some(({ msg }) => msg === "a shard is closed"),
    );
    assert.ok(giver.length > 0);
    for (const one of giver) assertCopiedFirst(one, [...cluster.nodes, stopped]);
    stream.close();
  });

  test("a node that is killed: lists and figures say so until others have its shards, and live streams that they have missed something", async () => {
    const found = await during(async (_, stream) => {
      await nodeAt(1).kill();
      await arrived(stream, "gap", 1);
      await untilListed();
      await cluster.start(1);
    });
    const { seen, stream } = found;
    assert.equal(seen.wrongLists, []);
    assert.ok(seen.truncatedLists > 0 && seen.truncatedOverviews > 0);
    await assertTold(found);
    assert.equal(missedWithoutGap(found), []);
    stream.close();
  });

  test("a node that stands still while others take its shards: it does not list what it has no more, nor publish it again", async () => {
    const found = await during(async (seen) => {
      await freeze(nodeAt(1), dir.path);
      // It does not answer while it is frozen: a whole list is one without it.
      await until(() => list(seen), { what: "its shards at the others" });
      const newer = seen.payloads.length + devicesCount;
      await until(() => seen.payloads.length > newer, { what: "messages that it does not know" });
      nodeAt(1).signal("SIGCONT");
      await until(() => list(seen, 1), { what: "a whole list at the node that goes on" });
    });
    assert.equal(found.seen.wrongLists, []);
    await assertToldOnce(found);
    found.stream.close();
  });
});
