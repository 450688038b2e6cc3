/** Dead letters in a cluster: every node lists all of them, and each is handled at the node that has it. */
import { join } from "node:path";
import { openDeadLetters } from "../../store/journal/dead-letters.js";
import { idsPerShard } from "../../store/journal/shard-ids.js";
import { provision, valuesOf } from "../flow/support.js";
import { journalRecord } from "../store/journal/support.js";
import { assert, influxSuite, openTempDir, until } from "../suite.js";
import type { Rec } from "../world.js";
import { type Cluster, numbers, placesOf, startCluster } from "./three-nodes.js";

influxSuite("dead letters in a cluster", (test, influx) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let cluster: Cluster;
  let devices: Rec[];
  const { nodeAt, keptAt } = placesOf(
    () => cluster,
    () => devices,
  );
  const places = [...numbers.keys()];
  /** An id of the node at the place, as if the message had been the first there. */
  const idOf = (place: number): number => (numbers[place] as number) * idsPerShard + 1;

  test.before(async () => {
    dir = await openTempDir();
    cluster = await startCluster(dir.path, await influx());
    devices = await provision(nodeAt(0), numbers.length);
    for (const place of places) {
      await nodeAt(place).stop();
      const device = keptAt(place);
      const record = {
        ...journalRecord(idOf(place), Date.now() * 1000, { payload: Buffer.from(`{"n":${40 + place}}`) }),
        device: device.id,
      };
      const store = await openDeadLetters(join(dir.path, `node-${place}`, "set-aside"));
      await store.add("series", record, "it never ends", Date.now());
      await cluster.start(place);
    }
  });
  test.after(async () => {
    await cluster.stop();
    await dir.close();
  });

  async function listed(place: number): Promise<{ ids: unknown[]; truncated: boolean }> {
    const answer = await fetch(`${nodeAt(place).addresses.http}/api/v1/set_aside`, {
      headers: { authorization: `Bearer ${cluster.apiKey}` },
    });
    assert.is(answer.status, 200);
    const ids = ((await answer.json()) as Rec[]).map(({ id }) => id);
    return { ids, truncated: answer.headers.get("truncated") === "true" };
  }

  test("all are listed at each node, and without one that is away the list says so", async () => {
    for (const place of places) {
      assert.equal(await listed(place), { ids: places.map(idOf), truncated: false });
    }
    await nodeAt(2).kill();
    assert.equal(await listed(0), { ids: [idOf(0), idOf(1)], truncated: true });
    const away = await nodeAt(0).call("POST", `/api/v1/set_aside/${idOf(2)}/drop`);
    assert.is(away.status, 503, away.text);
    assert.match(away.text, "does not answer");
    await cluster.start(2);
    assert.equal(await listed(0), { ids: places.map(idOf), truncated: false });
  });

  test("one is replayed, or given up, at the node that has it, asked anywhere", async () => {
    const replayed = await nodeAt(0).call("POST", `/api/v1/set_aside/${idOf(1)}/replay`);
    assert.is(replayed.status, 200, replayed.text);
    assert.equal(replayed.body, { replayed: ["series"], refused: [] });
    await until(async () => (await valuesOf(nodeAt(0), keptAt(1))).includes(41), { what: "its point" });
    const dropped = await nodeAt(1).call("POST", `/api/v1/set_aside/${idOf(2)}/drop`);
    assert.is(dropped.status, 200, dropped.text);
    for (const place of places) assert.equal((await listed(place)).ids, [idOf(0)]);
    for (const id of [idOf(2), 1, "x"]) {
      const again = await nodeAt(1).call("POST", `/api/v1/set_aside/${id}/drop`);
      assert.is(again.status, 404, again.text);
    }
  });
});
