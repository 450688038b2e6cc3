/** Several shards in one process: each is a journal of its own, and all of them are one deployment. */
import { existsSync } from "node:fs";
import { cp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { connect, connectAsync } from "mqtt";
import { shardOfID } from "../../store/journal/shard-ids.js";
import { assert, influxSuite, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { defineKillTest } from "./kill.js";
import { payloadsOf, provision, type RunningService, startWithShards, valuesOf } from "./support.js";

const count = 4;
const masterKey = "7".repeat(64);
const shardsOf = (dir: string) => join(dir, "shards");
const startHere = (dir: string, env?: Readonly<Record<string, string>>) => startWithShards(count, dir, env);

suite("kill -9 with four shards, embedded store", (test) => {
  defineKillTest(test, async () => ({}), startHere);
});

influxSuite("four shards", (test, influx) => {
  /** Its session waits for it while it is away. */
  const optionsOf = (device: Rec) => ({
    username: String(device.deviceUsername),
    password: String(device.token),
    clientId: `client of ${device.deviceID}`,
    clean: false,
    reconnectPeriod: 0,
  });

  async function publish(service: RunningService, device: Rec, ...values: readonly number[]): Promise<void> {
    const client = await connectAsync(service.mqtt, { ...optionsOf(device), clientId: "", clean: true });
    for (const n of values) await client.publishAsync("data", JSON.stringify({ n }), { qos: 1 });
    await client.endAsync();
  }

  const idsOf = async (service: RunningService, device: Rec): Promise<number[]> => {
    const { body } = await service.call("GET", `/api/v1/devices/${device.id}/events`);
    return (body.items as { id: number }[]).map(({ id }) => id);
  };

  test("a shard's folder goes to another machine with all that is in it", () =>
    withTempDir((dir) =>
      withTempDir(async (elsewhere) => {
        const { url, token, org, bucket } = await influx();
        const series = { INFLUX_URL: url, INFLUX_TOKEN: token, INFLUX_ORG: org, INFLUX_BUCKET: bucket };
        const environment = {
          ...series,
          LIBSQL_URL: `file:${join(dir, "shared.db")}`,
          MASTER_KEY: masterKey,
        };
        const first = await startHere(dir, environment);
        const devices = await provision(first, count);
        for (const [i, device] of devices.entries()) await publish(first, device, i, i + 10);
        // Its client goes, and a command waits for it in its shard.
        const [away] = devices as [Rec];
        const client = await connectAsync(first.mqtt, optionsOf(away));
        await client.subscribeAsync("inbox", { qos: 1 });
        await client.endAsync();
        const command = { deviceID: away.deviceID, payload: "open", topic: "inbox", qos: 1 };
        const sent = await first.call("POST", "/api/v1/device_publish", command);
        assert.is(sent.body.publishStatus, "successful", sent.text);
        await first.settled();
        const ids = await Promise.all(devices.map((device) => idsOf(first, device)));
        assert.equal(new Set(ids.map(([id]) => shardOfID(id ?? 0))), new Set([0, 1, 2, 3]));
        for (const own of ids) assert.is(new Set(own.map(shardOfID)).size, 1);
        await first.stop();
        assert.equal((await readdir(shardsOf(dir))).sort(), ["0", "1", "2", "3"]);
        assert.not.ok(existsSync(join(dir, "journal")));

        await cp(join(dir, "first-start.json"), join(elsewhere, "first-start.json"));
        await rename(shardsOf(dir), shardsOf(elsewhere));
        await rm(join(dir, "service.json"), { force: true });
        const second = await startHere(elsewhere, environment);
        for (const [i, device] of devices.entries()) {
          assert.equal(await payloadsOf(second, device), [`{"n":${i}}`, `{"n":${i + 10}}`]);
          assert.equal(await valuesOf(second, device), [i, i + 10]);
          await publish(second, device, i + 20);
          const [newest = 0] = await idsOf(second, device);
          assert.ok(newest > (ids[i]?.[0] ?? 0), "ids go on");
        }
        await second.settled();
        assert.equal(await valuesOf(second, away), [0, 10, 20], "nothing twice");
        await takesItsCommand(second, away);
        await second.stop();
      }),
    ));

  async function takesItsCommand(service: RunningService, device: Rec): Promise<void> {
    const taken: string[] = [];
    const client = connect(service.mqtt, optionsOf(device));
    client.on("message", (_topic, payload) => taken.push(String(payload)));
    await until(() => taken.length === 1, { what: "the command" });
    assert.equal(taken, ["open"]);
    await until(
      async () => {
        const { body } = await service.call("GET", `/api/v1/devices/${device.id}/control_logs`);
        return (body.items as { publishStatus: number }[])[0]?.publishStatus === 2;
      },
      { what: "its receipt" },
    );
    await client.endAsync();
  }
});
