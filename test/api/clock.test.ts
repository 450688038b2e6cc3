/** A wall clock that is set while the service runs: what it must not touch, and that it is noticed. */

import { createGuessBackOff } from "../../ingest/access/guess-back-off.js";
import { createAuthenticator } from "../../src/http/auth.js";
import { createClockWatch } from "../../src/observability/clock-watch.js";
import { createLogger } from "../../src/observability/log.js";
import type { Db } from "../../store/metadata/db/db.js";
import { hashGenerated } from "../../store/metadata/db/secrets.js";
import { createStillClock } from "../clock.js";
import { makeDevice, makeProduct } from "../factories.js";
import { endedBy } from "../ingest/support.js";
import { connected } from "../ingest/transports/mqtt/raw-client.js";
import { assert, rejects, suite, until } from "../suite.js";
import { type World, worldSuite } from "../world.js";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const steps = [5 * minuteMs, -5 * minuteMs, 6 * hourMs, -6 * hourMs];

const jumps = async (world: World): Promise<number> => {
  const { text } = await world.call("GET", "/metrics");
  const counts = [...text.matchAll(/^tidemark_clock_jumps_total\{direction="(?:forward|back)"\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
};

/** Sets the clock and waits until that has been noticed: then every look of that second has been taken too. */
async function setClock(world: World, ms: number): Promise<void> {
  const before = await jumps(world);
  world.clock.step(ms);
  await until(async () => (await jumps(world)) === before + 1, { what: `the jump of ${ms} ms` });
}

worldSuite("a wall clock that is reset", (test, world) => {
  test("ends no connection, be it silent or not, and is counted once each time", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    const ended = endedBy(world, "keep_alive");
    const clients = await Promise.all(
      ([4, 5] as const).map((version) =>
        connected(world, device, version, { clientId: `v${version}`, keepalive: 60 }),
      ),
    );
    for (const ms of steps) await setClock(world, ms);
    assert.is(await ended(), 0);
    for (const client of clients) await client.all("pingresp");
    for (const client of clients) await client.leave();
  });

  test("set back, it prolongs no wait of one who guessed", async () => {
    const device = await makeDevice(world, await makeProduct(world));
    const attempt = (token: string) => connected(world, { ...device, token }, 4).then((it) => it.leave());
    for (let i = 0; i < 10; i++) await attempt("wrong").catch(() => undefined);
    await setClock(world, -6 * hourMs);
    await until(
      () =>
        attempt(String(device.token)).then(
          () => true,
          () => false,
        ),
      { what: "the end of the wait" },
    );
    await setClock(world, 6 * hourMs);
  });

  test("session tokens and keys go on, and messages are kept in their order", async () => {
    const product = await makeProduct(world);
    const device = await makeDevice(world, product);
    const { username, password } = world.first;
    const { token } = await world.make("/api/v1/login", { username, password }, { key: null });
    for (const ms of steps) {
      await setClock(world, ms);
      assert.is((await world.call("GET", "/api/v1/me", undefined, { key: String(token) })).status, 200);
      await world.publish(device, { ms });
    }
    const { page } = await world.call("GET", `/api/v1/devices/${device.id}/events`);
    assert.equal(
      page.items.map(({ payload }) => JSON.parse(String(payload)).ms),
      steps.toReversed(),
    );
  });
});

suite("the clock's watch", (test) => {
  test("reports each jump once with its size, and nothing about a clock that is kept right", () => {
    const clock = createStillClock();
    const lines: { level: string; jumpMs: number }[] = [];
    const told: string[] = [];
    const log = createLogger("info", (line) => lines.push(JSON.parse(line)), clock.now);
    const look = createClockWatch(clock, log, (jump) => told.push(jump));
    const moves = [0, 3, -499, 300_000, 0, -300_000, 0, 0, 21_600_000, 0, -500];
    for (const ms of moves) {
      clock.pass(1000);
      clock.step(ms);
      look();
    }
    assert.equal(told, ["forward", "back", "forward", "back"]);
    assert.equal(
      lines.map(({ level, jumpMs }) => [level, jumpMs]),
      [
        ["warn", 300_000],
        ["warn", -300_000],
        ["warn", 21_600_000],
        ["warn", -500],
      ],
    );
  });
});

suite("credentials and a clock that is reset", (test) => {
  const key = { appID: "a", appSecret: "0123456789abcdef0123456789abcdef" };
  /** Answers one key; counts how often it is asked. */
  function keeper(expiresAt: number | null) {
    let asked = 0;
    const row = {
      tenant: 1,
      tenantID: "C1",
      userIntID: 1,
      username: "admin",
      role: "admin",
      userRole: "admin",
      expiresAt,
      secretHash: hashGenerated(key.appSecret),
    };
    const db = {
      lookUp: async () => {
        asked++;
        return [[row]];
      },
    } as unknown as Db;
    return { db, asked: () => asked };
  }
  const header = `Bearer ${key.appID}:${key.appSecret}`;

  test("what was verified is remembered for a minute of time that passes", async () => {
    const clock = createStillClock();
    const { db, asked } = keeper(null);
    const authenticator = createAuthenticator(db, clock);
    const ask = () => authenticator.caller(header, "here");
    await ask();
    for (const ms of steps) {
      clock.step(ms);
      await ask();
    }
    assert.is(asked(), 1);
    clock.step(-6 * hourMs);
    clock.pass(minuteMs);
    await ask();
    assert.is(asked(), 2);
  });

  test("the end of a key is a time of the wall clock", async () => {
    const clock = createStillClock();
    const { db } = keeper(clock.now() + hourMs);
    const authenticator = createAuthenticator(db, clock);
    await authenticator.caller(header, "here");
    clock.step(2 * hourMs);
    await rejects(() => authenticator.caller(header, "here"), /credentials/);
  });

  test("a wait for guessing lasts as long as the answer said", () => {
    const clock = createStillClock();
    const backOff = createGuessBackOff(clock.monotonic, 1);
    backOff.attempt("here", "a");
    clock.step(6 * hourMs);
    assert.is(backOff.attempt("here", "a"), 1000);
    clock.step(-12 * hourMs);
    clock.pass(999);
    assert.is(backOff.attempt("here", "a"), 1);
    clock.pass(1);
    assert.is(backOff.attempt("here", "a"), 0);
  });
});
