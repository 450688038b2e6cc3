/** Removes old points in steps, each a request of its own: one over years of many series would outlast any timeout. */
import { sleep } from "../../lib/abortable.js";
import { StoreError } from "../../lib/errors.js";
import type { InfluxClient } from "./client.js";
import { deleteRange } from "./flux.js";
import { timeMin } from "./times.js";

const dayMicros = 86_400_000_000;
/** Beyond this age there is hardly a point, and one step is enough. */
const steppedMicros = 10 * 365 * dayMicros;
const stepMicrosMax = 64 * dayMicros;
/** After a step that took less than this the next covers twice the time; after one that took more, half of it. */
const quickMs = 250;
const slowMs = 1000;
/** Rests three times as long as it works, so that writes have the server to themselves most of the time. */
const restRatio = 3;
const restMsMax = 5000;

/** Begins where this process's last call ended; all before that is one step. @throws StoreError UNAVAILABLE */
export function createBucketRetention(
  client: Pick<InfluxClient, "remove">,
  closed: AbortSignal,
): (time: number) => Promise<void> {
  let done: number | undefined;
  let step = stepMicrosMax / 2;
  return async (time) => {
    if (time <= timeMin) return;
    let stop = Math.max(timeMin + 1, Math.min(time, done ?? time - steppedMicros));
    for (;;) {
      const began = performance.now();
      await client.remove(deleteRange(stop));
      done = stop;
      if (stop >= time) return;
      const tookMs = performance.now() - began;
      if (tookMs < quickMs) step = Math.min(stepMicrosMax, step * 2);
      else if (tookMs > slowMs) step = Math.max(dayMicros, step / 2);
      if (tookMs >= quickMs) {
        await sleep(Math.min(restMsMax, tookMs * restRatio), closed);
      }
      if (closed.aborted)
        throw new StoreError("UNAVAILABLE", "cannot remove old points: the store is closing");
      stop = Math.min(time, stop + step);
    }
  };
}
