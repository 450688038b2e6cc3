import type { DeviceRef } from "../../src/catalog.js";
import type { AppDeps } from "../../src/deps.js";
import { newestSince } from "../../src/routes/live-replay.js";
import { StoreError } from "../../store/errors.js";
import { assert, rejects, suite } from "../suite.js";

suite("what a live feed is told from the store", (test) => {
  test("is asked for as long as somebody waits for it", async () => {
    const leaver = new AbortController();
    let asked = 0;
    const points = Array.from({ length: 180 }, (_, n) => ({
      ...{ field: `f${n}`, dataPointID: `p${n}`, dataTransType: 1, pointDataType: 1 },
    }));
    const under = (signal: AbortSignal) => ({
      read: async () => {
        if (signal.aborted) throw new StoreError("UNAVAILABLE", "cannot answer: the asker has left");
        asked++;
        if (asked === 3) leaver.abort();
        return { kind: "number", times: Float64Array.of(asked), values: Float64Array.of(1) };
      },
    });
    const deps = {
      catalog: { model: async () => ({ points }) },
      series: { ...under(new AbortController().signal), under },
      refs: { of: (_: unknown, field: object) => field },
    } as unknown as Pick<AppDeps, "catalog" | "series" | "refs">;
    const error = await rejects(() => newestSince(deps, {} as DeviceRef, 0, leaver.signal), /left/);
    assert.is(error instanceof StoreError && error.code, "UNAVAILABLE");
    assert.is(asked, 3);
    const all = await newestSince(deps, {} as DeviceRef, 0, new AbortController().signal);
    assert.is(all.events.length, 180);
  });
});
