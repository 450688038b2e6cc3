/** A record ends whichever node has its shard: it is found, wherever the shard is, and ends no more nodes. */
import { connectAsync } from "mqtt";
import { poisonous, poisons } from "../flow/poison.js";
import { provision, type RunningService, valuesOf } from "../flow/support.js";
import { assert, influxKafkaSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { assertKeptOnce, publishNumbers } from "./publish-numbers.js";
import { type Cluster, numbers, startCluster, untilSharedOut } from "./three-nodes.js";

const shards = 6;
const places = [...numbers.keys()];
/** The node that took the record, one that found where it is, one that found which it is, and one in its haste. */
const endsMax = 4;
const found = "a message is set aside: starts of the service ended while it alone was in work";

influxKafkaSuite("a record that ends the nodes of a cluster", (test, { influx, brokers }) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let isOver = false;
  let supervised: Promise<void>[] = [];
  let ends = 0;

  const nodeAt = (place: number): RunningService => cluster.nodes[place] as RunningService;

  /** Starts a node again whenever it ends, as a supervisor does. */
  async function supervise(place: number): Promise<void> {
    for (;;) {
      await nodeAt(place).ended;
      if (isOver) return;
      ends++;
      while (!isOver && !(await cluster.start(place).then(Boolean, () => false))) ends++;
    }
  }

  test.before(async () => {
    dir = await openTempDir();
    const { addresses } = await brokers();
    cluster = await startCluster(dir.path, await influx(), {
      JOURNAL_URL: `kafka://${addresses.join()}/crash`,
      JOURNAL_SHARDS: String(shards),
      NODE_OPTIONS: `${poisonous} --max-old-space-size=160`,
      TIDEMARK_TEST_POISON: "1",
    });
    await untilSharedOut(cluster, shards);
    supervised = places.map(supervise);
  });
  test.after(async () => {
    isOver = true;
    await cluster.stop();
    await Promise.all(supervised);
    await dir.close();
  });

  async function setAsideAt(place: number): Promise<Rec[]> {
    const answer = await fetch(`${nodeAt(place).addresses.http}/api/v1/set_aside`, {
      headers: { authorization: `Bearer ${cluster.apiKey}` },
    });
    assert.is(answer.status, 200);
    assert.is(answer.headers.get("truncated"), null);
    return (await answer.json()) as Rec[];
  }

  /** Waits until every node is there and has its share, and each lists the same dead letters. */
  async function untilListed(device: Rec): Promise<void> {
    const expected = JSON.stringify(["alerts", "series"].map((follower) => [follower, device.id]));
    const isAt = async (place: number): Promise<boolean> => {
      const listed = await setAsideAt(place).catch(() => []);
      return JSON.stringify(listed.map(({ follower, deviceIntID }) => [follower, deviceIntID])) === expected;
    };
    await until(async () => (await Promise.all(places.map(isAt))).every(Boolean), {
      what: "a list of dead letters at every node",
      timeoutMs: 120_000,
    });
    await untilSharedOut(cluster, shards);
  }

  test("it becomes a dead letter after a few crashes, moves with its shard, and all else is there once", async () => {
    const devices = await provision(nodeAt(0), shards);
    const harmed = devices[0] as Rec;
    let isEnough = false;
    let acknowledged = 0;
    const publishing = devices.map((device, i) =>
      publishNumbers(
        () => nodeAt(i % numbers.length).mqtt,
        device,
        () => isEnough,
        () => acknowledged++,
      ),
    );
    await until(() => acknowledged > 100, { what: "messages before it" });
    const login = { username: String(harmed.deviceUsername), password: String(harmed.token) };
    const client = await connectAsync(nodeAt(1).mqtt, { ...login, clientId: "harm", reconnectPeriod: 0 });
    client.on("error", () => undefined);
    // Its acknowledgement may be lost with the node that has kept it.
    client.publish("data", `{"n":-1,"note":{"text":"${poisons.memory}"}}`, { qos: 1 });
    await untilListed(harmed);
    await client.endAsync(true);
    assert.ok(ends >= 1 && ends <= endsMax, `${ends} nodes ended`);
    const endsBefore = ends;

    // The node that gets the shard next knows of it.
    const holder = places.find((place) => nodeAt(place).logged.some(({ msg }) => msg === found)) as number;
    const seen = acknowledged;
    await nodeAt(holder).kill();
    await untilListed(harmed);
    await until(() => acknowledged > seen + 100, { what: "messages after that" });
    isEnough = true;
    const kept = await Promise.all(publishing);
    for (const place of places) await nodeAt(place).settled();
    assert.is(ends, endsBefore + 1, "the kill alone");
    for (const [i, device] of devices.entries()) {
      await assertKeptOnce(() => nodeAt(i % numbers.length), device, kept[i] ?? []);
    }
    assert.not.ok((await valuesOf(nodeAt(0), harmed)).includes(-1));

    // It does no harm in the thread that tries it again, and is given up by whichever node is asked.
    const { id } = (await setAsideAt(0))[0] as Rec;
    const replayed = await nodeAt(1).call("POST", `/api/v1/set_aside/${id}/replay`);
    assert.is(replayed.status, 200, replayed.text);
    assert.equal(replayed.body.replayed, []);
    const dropped = await nodeAt(2).call("POST", `/api/v1/set_aside/${id}/drop`);
    assert.is(dropped.status, 200, dropped.text);
    for (const place of places) assert.equal(await setAsideAt(place), []);
    assert.is((await nodeAt(0).call("POST", `/api/v1/set_aside/${id}/drop`)).status, 404);
    assert.is(ends, endsBefore + 1, "no other node");
  });
});
