/** A message that crashes every start is found, tried in a thread, made a dead letter, logged, and replayed later. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { connectAsync } from "mqtt";
import { program } from "../program.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { poisonous, poisons } from "./poison.js";
import {
  nothingSetAside,
  payloadsOf,
  provision,
  type RunningService,
  startService,
  valuesOf,
} from "./support.js";

const key = "set-aside:a-secret-of-its-own";
/** A message parsed to no end takes what there is, in the service as in the thread that tries it. */
const heap = "--max-old-space-size=160";
const startsMax = 6;

/** Starts it until it stays, as a supervisor does. Returns how many starts ended. */
async function startUntilItStays(
  dir: string,
  env: Readonly<Record<string, string>>,
): Promise<{ service: RunningService; ended: number }> {
  for (let ended = 0; ended < startsMax; ended++) {
    const service = await startService(dir, env).catch(() => null);
    if (service === null) continue;
    const stays = await Promise.race([
      service.ended.then(() => false),
      service.settled(60_000).then(
        () => true,
        () => service.ended.then(() => false),
      ),
    ]);
    if (stays) return { service, ended };
  }
  throw new Error(`it ended at each of ${startsMax} starts`);
}

async function publishAll(service: RunningService, device: Rec, payloads: readonly string[]): Promise<void> {
  const client = await connectAsync(service.mqtt, {
    username: String(device.deviceUsername),
    password: String(device.token),
    reconnectPeriod: 0,
  });
  client.on("error", () => undefined);
  // A service that ends in the middle has acknowledged what it has kept.
  await Promise.all(payloads.map((payload) => client.publishAsync("data", payload, { qos: 1 }))).catch(
    () => null,
  );
  await client.endAsync(true);
}

suite("a message that ends every start", (test) => {
  test(
    "it is set aside, what was around it is there, and once it does no harm it is replayed",
    () =>
      withTempDir(async (dir) => {
        const harmed = { API_KEY: key, NODE_OPTIONS: `${poisonous} ${heap}`, TIDEMARK_TEST_POISON: "1" };
        // Journalled, and followed by nobody.
        let service = await startService(dir, { API_KEY: key, TIDEMARK_HOLD_SERIES: "1" });
        const [device, other] = (await provision(service, 2)) as [Rec, Rec];
        await publishAll(service, device, [
          '{"n":1}',
          `[{"n":2,"note":{"text":"${poisons.memory}"}}]`,
          '{"n":3}',
        ]);
        await publishAll(service, other, ['{"n":4}']);
        await service.kill();

        const found = await startUntilItStays(dir, harmed);
        service = found.service;
        assert.ok(found.ended >= 1 && found.ended <= 5, `${found.ended} starts have ended`);
        assert.equal((await valuesOf(service, device)).sort(), [1, 3]);
        assert.equal(await valuesOf(service, other), [4]);
        assert.is((await payloadsOf(service, device)).length, 3, "it is an event all the same");
        const set = async () =>
          JSON.parse((await service.call("GET", "/api/v1/set_aside")).text) as Record<string, unknown>[];
        const listed = await set();
        assert.equal(
          listed.map(({ follower, deviceIntID, topic }) => [follower, deviceIntID, topic]),
          [
            ["alerts", device.id, "data"],
            ["series", device.id, "data"],
          ],
        );
        assert.match(String(listed[0]?.reason), /MiB of memory/);
        const id = Number(listed[0]?.id);
        const ready = await service.call("GET", "/readyz");
        assert.is(ready.status, 200);
        assert.match(ready.text, new RegExp(`set aside.*${id}`));
        assert.is(await service.metric("tidemark_set_aside_messages{", 'follower="series"'), 1);
        assert.is(await service.metric("tidemark_set_aside_messages{", 'follower="alerts"'), 1);
        assert.is(await service.metric("tidemark_refused_total{", 'reason="set_aside"'), 1);
        const named = service.logged.filter(({ msg }) => String(msg).startsWith("a message is set aside"));
        assert.equal(
          named.map((line) => line.id),
          [id, id],
        );
        const counted = (await service.call("GET", `/api/v1/devices/${device.id}/ingest_status`)).body;
        assert.equal([counted.messages, counted.points, counted.refused], [3, 2, { set_aside: 1 }]);

        // It still does harm: the service stays up, and so does the message.
        const again = await service.call("POST", `/api/v1/set_aside/${id}/replay`);
        assert.is(again.status, 200, again.text);
        assert.equal([again.body.replayed, (again.body.refused as unknown as object[]).length], [[], 2]);
        const since = { startTime: "2001-01-01 00:00:00" };
        const resettled = await service.call("POST", "/api/v1/resettle", since);
        assert.is(resettled.status, 200, "what goes over kept messages passes over it");
        await service.stop();

        service = await startService(dir, harmed);
        await service.settled();
        assert.is((await set()).length, 2, "over restarts too");
        await service.stop();

        // Mended: its points come, and what is newer stays.
        service = await startService(dir, { API_KEY: key });
        const run = promisify(execFile);
        const env = { DATA_DIR: dir, API_KEY: key };
        const { stdout } = await run(process.execPath, [program, "set-aside", "replay", String(id)], { env });
        assert.equal(JSON.parse(stdout), { replayed: ["alerts", "series"], refused: [] });
        assert.equal((await valuesOf(service, device)).sort(), [1, 2, 3]);
        assert.equal(await set(), []);
        assert.not.match((await service.call("GET", "/readyz")).text, /set_aside/);
        assert.is(await service.metric("tidemark_set_aside_messages{", 'follower="series"'), 0);
        const after = (await service.call("GET", `/api/v1/devices/${device.id}/ingest_status`)).body;
        assert.equal([after.messages, after.points], [3, 3]);
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );

  test(
    "one that ends the replay of sessions, before anything listens: starts go on, and it can be given up",
    () =>
      withTempDir(async (dir) => {
        const harmed = { API_KEY: key, NODE_OPTIONS: `${poisonous} ${heap}`, TIDEMARK_TEST_POISON: "1" };
        let service = await startService(dir, { API_KEY: key });
        const [device] = (await provision(service, 1)) as [Rec];
        const client = await connectAsync(service.mqtt, {
          username: String(device.deviceUsername),
          password: String(device.token),
          protocolVersion: 5,
          reconnectPeriod: 0,
          clientId: "stays",
          clean: false,
          properties: { sessionExpiryInterval: 3600 },
        });
        client.on("error", () => undefined);
        await client.subscribeAsync("kept/#", { qos: 1 });
        const properties = { userProperties: { note: poisons.memory } };
        await client.publishAsync("data", '{"n":1}', { qos: 1, properties });
        await client.publishAsync("data", '{"n":2}', { qos: 1 });
        await service.kill();
        await client.endAsync(true);

        const found = await startUntilItStays(dir, harmed);
        service = found.service;
        assert.ok(found.ended >= 1, "the message did no harm: this shows nothing");
        const listed = JSON.parse((await service.call("GET", "/api/v1/set_aside")).text) as Record<
          string,
          unknown
        >[];
        assert.equal(
          listed.map(({ follower }) => follower),
          ["sessions"],
        );
        assert.equal(await valuesOf(service, device), [1, 2], "its points do no harm");
        const id = String(listed[0]?.id);
        for (const wrong of ["0", "x", "99999999999999999999"]) {
          assert.is((await service.call("POST", `/api/v1/set_aside/${wrong}/drop`)).status, 404, wrong);
        }
        const env = { DATA_DIR: dir, API_KEY: key };
        await promisify(execFile)(process.execPath, [program, "set-aside", "drop", id], { env });
        assert.equal((await service.call("GET", "/api/v1/set_aside")).text, "[]");
        await until(async () => !(await service.call("GET", "/readyz")).text.includes("set_aside"), {
          what: "nothing to be named",
        });
        await service.stop();
      }),
    { timeoutMs: 600_000 },
  );
});

suite("kills from outside", (test) => {
  test(
    "however often, and before anything is processed: there is no dead letter, and all of it is there in the end",
    () =>
      withTempDir(async (dir) => {
        let service = await startService(dir, { API_KEY: key, TIDEMARK_HOLD_SERIES: "1" });
        const [device] = (await provision(service, 1)) as [Rec];
        const sent = Array.from({ length: 500 }, (_, n) => n);
        await publishAll(
          service,
          device,
          sent.map((n) => JSON.stringify({ n })),
        );
        await service.kill();
        for (const signal of ["SIGKILL", "SIGKILL", "SIGTERM", "SIGKILL", "SIGKILL", "SIGKILL"] as const) {
          service = await startService(dir, { API_KEY: key });
          service.signal(signal);
          await service.ended;
        }
        service = await startService(dir, { API_KEY: key });
        await service.settled();
        await nothingSetAside(service);
        assert.equal(
          (await valuesOf(service, device)).sort((a, b) => a - b),
          sent,
        );
        await service.stop();
      }),
    { timeoutMs: 120_000 },
  );
});
