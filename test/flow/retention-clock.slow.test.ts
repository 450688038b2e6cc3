/** A service whose wall clock is far ahead at a start: what retention removes then, and what it says. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createSetClock } from "../clock.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { createPublisher } from "./publisher.js";
import type { AnyService } from "./support.js";
import { openService, payloadsOf, provision, valuesOf } from "./support.js";

const hour = 3_600_000;
const day = 24 * hour;
const messages = 50;
const settings = { POINT_RETENTION_DAYS: "30", EVENT_RETENTION_DAYS: "30" };

async function publish(service: AnyService, device: Rec): Promise<number[]> {
  const payload = (n: number): string => `{"n":${n}}`;
  const publisher = createPublisher({ device, qos: 1, clientID: "edge", payload, mostInFlight: 10 });
  const running = publisher.run(service.mqtt);
  await until(() => publisher.acknowledged.size >= messages, { what: "acknowledgements" });
  await publisher.stop();
  await running;
  await service.settled();
  return Array.from({ length: publisher.sent }, (_, n) => n);
}

/** Waits until each job of retention has run at least once: they run every ten seconds. */
const rounds = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 12_000));

const said = (service: AnyService, text: RegExp) =>
  service.logged.filter(({ msg }) => text.test(String(msg)));

suite("a wall clock that is wrong", (test) => {
  test(
    "removes no point, message or log at a start that is 40 days ahead; where it stays so, it is followed slowly, as the log says",
    () =>
      withTempDir(async (dir) => {
        const first = await openService(dir, settings);
        const [device] = await provision(first, 1);
        if (device === undefined) throw new Error("no device");
        const sent = await publish(first, device);
        await first.stop();

        const clock = createSetClock();
        clock.step(40 * day);
        const second = await openService(dir, settings, clock);
        await rounds();
        assert.equal(await valuesOf(second, device), sent);
        assert.is((await payloadsOf(second, device)).length, sent.length);
        assert.equal(said(second, /retention has removed|segment unlinked/), []);
        const [waiting] = said(second, /the wall clock is not trusted yet/);
        assert.is(waiting?.level, "warn");
        assert.ok(Math.abs(Number(waiting?.aheadMs) - 40 * day) < hour);
        assert.ok(Math.abs((await second.metric("tidemark_retention_lag_seconds")) - 40 * 86_400) < 3600);
        await second.stop();

        // The time server has answered: all is there.
        const third = await openService(dir, settings);
        assert.equal(await valuesOf(third, device), sent);
        assert.ok((await third.metric("tidemark_retention_lag_seconds")) < 5);
        await third.stop();

        const again = createSetClock();
        again.step(40 * day);
        const fourth = await openService(dir, settings, again);
        await rounds();
        assert.equal(await valuesOf(fourth, device), sent);
        // It stays so for two days: the machine was down.
        again.pass(48 * hour);
        await until(() => said(fourth, /retention has removed/).length > 0, { what: "the retention" });
        const [points] = said(fourth, /retention has removed/).filter(({ what }) => what === "points");
        assert.is(points?.rows, sent.length);
        assert.ok(String(points?.from) < String(points?.before));
        assert.equal(said(fourth, /goes by the wall clock again/).length, 1);
        await fourth.stop();
        const kept = JSON.parse(await readFile(join(dir, "retention-time.json"), "utf8")) as object;
        assert.equal(Object.keys(kept), ["trustedTime"]);
      }),
    { timeoutMs: 200_000 },
  );

  test("at a first start in 1970 costs an hour, once a time server has corrected it", () =>
    withTempDir(async (dir) => {
      const clock = createSetClock();
      const sinceEpoch = clock.now() - 60_000;
      clock.step(-sinceEpoch);
      const service = await openService(dir, settings, clock);
      const lag = (): Promise<number> => service.metric("tidemark_retention_lag_seconds");
      clock.step(sinceEpoch);
      await until(() => said(service, /the wall clock is not trusted yet/).length === 2, {
        what: "the jump",
      });
      assert.ok((await lag()) > 3600);
      clock.pass(hour + 60_000);
      await until(async () => (await lag()) < 5, { what: "the trust" });
      await service.stop();
    }));
});
