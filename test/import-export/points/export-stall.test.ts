/** An export whose client reads nothing is ended; one with a slow store goes on. */
import type { ExportPlan } from "../../../src/import-export/points/export-messages.js";
import { openExport, type StartTimer } from "../../../src/import-export/points/export-stream.js";
import type { Columns, SeriesRef } from "../../../store/series/series.js";
import { assert, rejects, suite, until } from "../../suite.js";

const ref: SeriesRef = { tenant: 1, productID: "p", deviceID: "d", field: "f", kind: "number" };
const plan: ExportPlan = {
  format: "csv",
  layout: "long",
  times: "utc",
  gzip: false,
  devices: [{ deviceID: "d", points: [{ dataPointID: "f", form: "number", series: 0 }] }],
};

/** A clock on which time passes only by `pass`. */
function virtualTimers() {
  let now = 0;
  const timers = new Set<{ readonly at: number; readonly then: () => void }>();
  const start: StartTimer = (ms, then) => {
    const timer = { at: now + ms, then };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  const pass = (ms: number): void => {
    now += ms;
    for (const timer of [...timers]) {
      if (timer.at > now || !timers.delete(timer)) continue;
      timer.then();
    }
  };
  return { start, pass, running: () => timers.size };
}

/** A store whose pieces come only when they are released. */
function slowStore(pieces: number) {
  let letGo: () => void = () => undefined;
  let asked = 0;
  async function* scan(): AsyncGenerator<Columns> {
    for (let n = 0; n < pieces; n++) {
      asked++;
      if (n > 0) await new Promise<void>((resolve) => (letGo = resolve));
      const times = Float64Array.from({ length: 20_000 }, (_, i) => n * 20_000 + i);
      yield { kind: "number", times, values: Float64Array.from(times) };
    }
  }
  return { scan, asked: () => asked, letGo: () => letGo() };
}

suite("exports that stall", (test) => {
  test("only time in which the client takes nothing counts", async () => {
    const clock = virtualTimers();
    const store = slowStore(2);
    let closed = 0;
    const stream = await openExport(
      store,
      { plan, series: [ref], range: {}, closed: () => closed++ },
      clock.start,
    );
    const reader = stream.getReader();
    let bytes = 0;
    const reading = (async () => {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        bytes += value.length;
      }
    })();
    await until(() => store.asked() === 2 && clock.running() === 0, {
      what: "a reader that has taken all, and waits for the store",
    });
    clock.pass(3_600_000);
    assert.is(closed, 0, "an hour that the store takes is nobody's fault");
    store.letGo();
    await reading;
    assert.ok(bytes > 40_000 * 10, `${bytes} bytes`);
    assert.equal([closed, clock.running()], [1, 0]);
  });

  test("a client that takes nothing is given up, and its place is free", async () => {
    const clock = virtualTimers();
    let closed = 0;
    const exported = { plan, series: [ref], range: {}, closed: () => closed++ };
    const stream = await openExport(slowStore(1), exported, clock.start);
    await until(() => clock.running() === 1, { what: "a chunk that waits" });
    clock.pass(119_999);
    assert.is(closed, 0);
    const reader = stream.getReader();
    await reader.read();
    await until(() => clock.running() === 1, { what: "the next chunk" });
    clock.pass(119_999);
    assert.is(closed, 0, "each chunk has its time");
    clock.pass(1);
    assert.is(closed, 1);
    await rejects(() => reader.read(), /not taken/);
    assert.is(clock.running(), 0);
  });
});
