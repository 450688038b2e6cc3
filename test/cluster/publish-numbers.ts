import { setTimeout as pause } from "node:timers/promises";
import { connectAsync, type MqttClient } from "mqtt";
import { type AnyService, payloadsOf, valuesOf } from "../flow/support.js";
import { assert } from "../suite.js";
import type { Rec } from "../world.js";

/** The time of the first message that has its own time. */
const ownTimesFrom = 1_764_000_000_000;

/**
 * Publishes numbers that are never used again, at QoS 1 and 2 in turn, half of them with times of their own, a hundred at
 * each address that lets it in, until `isOver` is true. Resolves with those that were acknowledged.
 */
export async function publishNumbers(
  address: () => string,
  device: Rec,
  isOver: () => boolean,
  onAcknowledged: () => void = () => undefined,
): Promise<readonly number[]> {
  const acknowledged: number[] = [];
  let n = 0;
  while (!isOver()) {
    let client: MqttClient | null = null;
    try {
      const login = { username: String(device.deviceUsername), password: String(device.token) };
      const once = { reconnectPeriod: 0, connectTimeout: 5000 };
      // Not allowed to retry: only then a connection that closes before CONNACK is a failure.
      client = await connectAsync(address(), { ...login, ...once }, false);
      const own = client;
      const lost = new Promise<never>((_, reject) => {
        own.once("close", () => reject(new Error("lost")));
      });
      lost.catch(() => undefined);
      for (let i = 0; i < 100 && !isOver(); i++) {
        const value = n++;
        const qos = value % 2 === 0 ? 1 : 2;
        const time = value % 4 < 2 ? "" : `,"time":${ownTimesFrom + value}`;
        await Promise.race([own.publishAsync("data", `{"n":${value}${time}}`, { qos }), lost]);
        acknowledged.push(value);
        onAcknowledged();
      }
    } catch {
      await pause(50);
    } finally {
      client?.end(true);
    }
  }
  return acknowledged;
}

/** Asserts that all acknowledged numbers of a device are in the journal and in the series, and none is there twice. */
export async function assertKeptOnce(
  service: () => AnyService,
  device: Rec,
  acknowledged: readonly number[],
): Promise<void> {
  const kept = (await payloadsOf(service(), device)).map((text) => (JSON.parse(text) as { n: number }).n);
  const stored = await valuesOf(service(), device);
  assert.is(new Set(kept).size, kept.length, "no message twice");
  assert.is(new Set(stored).size, stored.length, "no point twice");
  const [inJournal, inSeries] = [new Set(kept), new Set(stored)];
  const missing = (from: ReadonlySet<number>): number[] => acknowledged.filter((n) => !from.has(n));
  assert.equal(missing(inJournal), [], "every message");
  assert.equal(missing(inSeries), [], "every point");
}
