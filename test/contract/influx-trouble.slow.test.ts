/** What a real InfluxDB does to us besides being away: its bucket goes, its token is not ours, others write in it. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { StoreError } from "../../store/lib/errors.js";
import type { ConflictEnd } from "../../store/series/influx/conflicts.js";
import { type InfluxState, InfluxUnavailable } from "../../store/series/influx/health.js";
import type { FieldConflict } from "../../store/series/influx/ledger.js";
import { openInfluxSeriesStore } from "../../store/series/influx/open.js";
import type { Columns, Point, SeriesRef, SeriesStore } from "../../store/series/series.js";
import type { InfluxServer } from "../influxd/influxd.js";
import { memoryLedger } from "../influxd/ledger.js";
import { assert, influxSuite, rejects, suite, until } from "../suite.js";
import { aggregates, newDevice, newSeries, nextID, pointsOf } from "./series.js";

const week = 7 * 86_400e6;
/** A Monday, at which InfluxDB begins a shard; the test's points lie within it. */
const monday = Date.UTC(2025, 2, 3) * 1000;
const inShard = monday + 86_400e6;

interface Opened {
  readonly store: SeriesStore;
  readonly states: InfluxState[];
  readonly made: boolean[];
  readonly conflicts: { field: string; ended: ConflictEnd | null; all: number }[];
  close(): Promise<void>;
}

async function open(server: InfluxServer, ledger = memoryLedger(), fields: object = {}): Promise<Opened> {
  const { url, token, org, bucket } = server;
  const [states, made, conflicts]: [InfluxState[], boolean[], Opened["conflicts"]] = [[], [], []];
  const store = await openInfluxSeriesStore({
    url,
    token,
    org,
    bucket,
    firstShard: 0,
    timeoutMs: 10_000,
    ledger,
    checkpoint: () => ({ read: async () => 0, write: async () => undefined }),
    onState: (state) => void states.push(state),
    onBucketMade: (again) => void made.push(again),
    onConflict: ({ field }: FieldConflict, ended, all) =>
      void conflicts.push({ field, ended, all: all.length }),
    ...fields,
  });
  return { store, states, made, conflicts, close: () => store.close() };
}

/** The server's own API, as an operator uses it. */
async function operate(server: InfluxServer, method: string, path: string, body?: unknown): Promise<unknown> {
  const answer = await fetch(`${server.url}/api/v2${path}`, {
    method,
    headers: { authorization: `Token ${server.token}` },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

const writeAs = (server: InfluxServer, line: string) =>
  operate(server, "POST", `/write?org=${server.org}&bucket=${server.bucket}&precision=ns`, line);

async function bucketOf({ org, bucket, ...server }: InfluxServer): Promise<{ id: string; orgID: string }> {
  const path = `/buckets?org=${org}&name=${bucket}`;
  const found = (await operate({ org, bucket, ...server }, "GET", path)) as {
    buckets: { id: string; orgID: string }[];
  };
  return found.buckets[0] ?? { id: "", orgID: "" };
}

const removeBucket = async (server: InfluxServer) =>
  operate(server, "DELETE", `/buckets/${(await bucketOf(server)).id}`);

/** InfluxDB's own deletion, of the weeks from the Monday `from` on. */
const removeWeeks = (server: InfluxServer, from: number, weeks: number, predicate: string) =>
  operate(server, "POST", `/delete?org=${server.org}&bucket=${server.bucket}`, {
    start: isoOf(from),
    stop: isoOf(from + weeks * week - 1),
    predicate,
  });

const isoOf = (micros: number): string => new Date(Math.floor(micros / 1000)).toISOString();

/** A batch is refused somewhere, and InfluxDB takes the others. */
async function refusedOf(store: SeriesStore, points: Point[]): Promise<number> {
  return (await store.write(points, nextID())).length;
}

async function refusal(ask: () => Promise<unknown>): Promise<StoreError> {
  const error = await rejects(ask);
  if (!(error instanceof StoreError)) throw error;
  return error;
}

influxSuite("a field that others write in InfluxDB", (test, influx) => {
  /** One product: `temp` and `hum` of two devices. */
  function seriesOf(productID: string) {
    const of = (deviceID: string, field: string): SeriesRef => ({
      ...newSeries("number", deviceID, field),
      productID,
    });
    return { a: of("a", "temp"), b: of("b", "temp"), hum: of("a", "hum") };
  }

  /** Every kind of query of a series. */
  function questionsOf(store: SeriesStore, series: SeriesRef): Record<string, () => Promise<unknown>> {
    const [start, stop] = [monday, monday + week];
    const calendar = { unit: "day", timezone: "UTC" } as const;
    const times = aggregates.map((aggregate) => [
      aggregate,
      () => store.aggregate({ series, edges: [start, stop], calendar, aggregate }),
    ]);
    return {
      ...Object.fromEntries(times),
      read: () => store.read(series, { start, stop }),
      newest: () => store.read(series, { newest: 2 }),
      together: async () => {
        const [found] = await store.readNewest([series], {}, 2);
        if (found instanceof StoreError) throw found;
      },
      latest: async () => {
        const [latest] = await store.latest([series]);
        if (latest && "error" in latest) throw latest.error;
      },
      extremes: () => store.extremes({ series, start, stop, width: 86_400e6, exactMax: 0 }),
      scan: async () => {
        for await (const _ of store.scan(series, { start, stop }, 100)) assert.ok(_);
      },
    };
  }

  async function allNamed(store: SeriesStore, series: SeriesRef, bucket: string): Promise<void> {
    for (const [name, ask] of Object.entries(questionsOf(store, series))) {
      const error = await refusal(ask).catch((other: Error) => {
        throw new Error(`${series.deviceID} ${name}: ${other.message}`);
      });
      assert.is(error.code, "MISMATCH", name);
      assert.ok(error.message.includes(`"temp"`) && error.message.includes(`"${bucket}"`), error.message);
      assert.equal(Object.keys(error.fields), ["temp"]);
    }
  }

  test("refuses that field of every device: its queries get its name and bucket as the error, others are answered", async () => {
    const server = await influx();
    const productID = newDevice();
    const { a, b, hum } = seriesOf(productID);
    const ledger = memoryLedger();
    const first = await open(server, ledger);
    await first.store.write(pointsOf(a, [monday - week, 1]), nextID());
    await writeAs(server, `${productID},device=elsewhere temp="warm" ${inShard}000`);
    const refused = await first.store.write(
      [...pointsOf(a, [inShard, 2]), ...pointsOf(b, [inShard + 1e6, 3]), ...pointsOf(hum, [inShard, 4])],
      nextID(),
    );
    assert.equal(refused.map(({ point }) => point.series.deviceID).sort(), ["a", "b"]);
    assert.equal(first.conflicts, [{ field: "temp", ended: null, all: 1 }], "reported once");
    for (const series of [a, b]) await allNamed(first.store, series, server.bucket);
    assert.equal(await first.store.latest([hum]), [{ time: inShard, value: 4 }]);
    const before = await first.store.read(a, { start: monday - 2 * week, stop: monday });
    assert.equal([...before.values], [1], "the week before is as it was");
    assert.equal(first.states, [], "InfluxDB serves all the same");
    await first.close();

    const second = await open(server, ledger);
    assert.equal(second.conflicts, [{ field: "temp", ended: null, all: 1 }], "known after a restart");
    await allNamed(second.store, b, server.bucket);
    // The operator takes out what does not belong there; a point of ours is taken again.
    await operate(server, "POST", `/delete?org=${server.org}&bucket=${server.bucket}`, {
      start: "2025-03-03T00:00:00Z",
      stop: "2025-03-10T00:00:00Z",
      predicate: `_measurement="${productID}"`,
    });
    assert.equal(await second.store.write(pointsOf(a, [inShard, 2]), nextID()), []);
    assert.equal(second.conflicts.at(-1), { field: "temp", ended: "taken", all: 0 });
    assert.equal([...(await second.store.read(a, {})).values], [1, 2]);
    assert.equal(ledger.known, []);
    await second.close();
  });

  test("in the device's own series, where we have not written: it is no value of ours", async () => {
    const server = await influx();
    for (const [text, heldAs] of [
      ['"abc"', "string"],
      ['"5"', "string"],
      ["true", "boolean"],
    ] as const) {
      const { store, close } = await open(server);
      const productID = newDevice();
      const { a } = seriesOf(productID);
      await writeAs(server, `${productID},device=a temp=${text} ${inShard}000`);
      for (const [name, ask] of Object.entries(questionsOf(store, a))) {
        if (name === "count") continue; // it counts whatever there is
        const error = await refusal(ask);
        assert.is(error.code, "MISMATCH", `${text} ${name}: ${error.message}`);
        assert.ok(error.message.includes(heldAs), error.message);
      }
      await close();
    }
  });

  test("a number, or a truth, where a text belongs is no text", async () => {
    const server = await influx();
    const { store, close } = await open(server);
    for (const value of ["1.5", "true"]) {
      const series = { ...newSeries("text", "a", "note"), productID: newDevice() };
      await writeAs(server, `${series.productID},device=a note=${value} ${inShard}000`);
      assert.is((await refusal(() => store.read(series, {}))).code, "MISMATCH");
      const [latest] = await store.latest([series]);
      assert.ok(latest && "error" in latest && latest.error.code === "MISMATCH");
      const [before, behind] = ["a", "z"].map((field) => ({ ...series, field })) as [SeriesRef, SeriesRef];
      await store.write(
        [...pointsOf(before, [inShard, "x"]), ...pointsOf(behind, [inShard - 1, "5"], [inShard, "y"])],
        nextID(),
      );
      for (const newest of [1, 2, 10]) {
        const [first, foreign, last] = await store.readNewest([before, series, behind], {}, newest);
        assert.ok(foreign instanceof StoreError && foreign.code === "MISMATCH", `${newest} of ${value}`);
        assert.equal(Object.keys(foreign.fields), ["note"]);
        assert.equal(first && "values" in first && first.values, ["x"]);
        assert.equal(last && "values" in last && last.values, ["5", "y"].slice(-newest));
      }
    }
    await close();
  });
});

/** `temp` of devices a and b, refused to both in the week of `monday`, and taken before and after. */
async function conflictAmongGood(server: InfluxServer, productID: string, store: SeriesStore) {
  const of = (deviceID: string, field: string): SeriesRef => ({
    ...newSeries("number", deviceID, field),
    productID,
  });
  const [a, b, hum] = [of("a", "temp"), of("b", "temp"), of("a", "hum")];
  const after = monday + week;
  await writeAs(server, `${productID},device=elsewhere temp="warm" ${inShard}000`);
  const good = [a, b].flatMap((series) =>
    pointsOf(series, [monday - 10, 1], [monday - 1, 2], [after, 3], [after + 10, 4], [after + 20, 5]),
  );
  const refused = await refusedOf(store, [
    ...[...good, ...pointsOf(hum, [inShard, 40])],
    ...pointsOf(a, [inShard, 9]),
  ]);
  assert.is(refused, 1);
  return { a, b, hum, after };
}

influxSuite("a time range that InfluxDB holds with another type", (test, influx) => {
  test("is named by the questions that it is a part of; newest and oldest points this side of it are answered", async () => {
    const server = await influx();
    const { store, close } = await open(server);
    const { a, b, hum, after } = await conflictAmongGood(server, newDevice(), store);
    const values = async (ask: Promise<Columns>) => [...(await ask).values];
    for (const series of [a, b]) {
      assert.equal(await values(store.read(series, { newest: 2 })), [4, 5]);
      assert.equal(await values(store.read(series, { newest: 3 })), [3, 4, 5]);
      assert.equal(await values(store.read(series, { start: after + 1, newest: 100 })), [4, 5]);
      assert.equal(await values(store.read(series, { oldest: 2 })), [1, 2]);
      assert.equal(
        await values(store.read(series, { stop: monday, newest: 1 })),
        [2],
        "up to its very shard",
      );
      assert.equal(
        await values(store.read(series, { stop: inShard, newest: 5 })),
        [1, 2],
        "up to the refused",
      );
      assert.equal(await values(store.read(series, { stop: inShard })), [1, 2]);
      assert.equal(await values(store.read(series, { start: monday, stop: inShard })), []);
      assert.equal(await values(store.read(series, { start: after })), [3, 4, 5]);
      for (const range of [{ newest: 4 }, { oldest: 3 }, {}, { start: inShard }]) {
        assert.is((await refusal(() => store.read(series, range))).code, "MISMATCH", JSON.stringify(range));
      }
      assert.equal(await store.latest([series]), [{ time: after + 20, value: 5 }]);
    }
    assert.equal(await store.latest([hum, a]), [
      { time: inShard, value: 40 },
      { time: after + 20, value: 5 },
    ]);
    const lines = await store.extremes({
      series: a,
      start: monday - week,
      stop: monday,
      width: week,
      exactMax: 0,
    });
    assert.equal([...lines.values], [1, 2], "also where its shard begins at the end of the range");
    await close();
  });

  test("does not change the answers for several series together: each gets the answer that it gets alone", async () => {
    const server = await influx();
    const { store, close } = await open(server);
    const { a, b, hum, after } = await conflictAmongGood(server, newDevice(), store);
    const flag = { ...newSeries("boolean", "a", "flag"), productID: a.productID };
    await store.write(pointsOf(flag, [monday - 5, true], [inShard - 1, false]), nextID());
    // Another program has written a value for the device itself, which the query must not reach.
    await writeAs(server, `${a.productID},device=a temp="cold" ${inShard - 7200e6}000`);
    const series = [hum, a, flag];
    for (const range of [
      {},
      { stop: inShard },
      { stop: inShard - 3600e6 },
      { start: monday, stop: inShard },
      { stop: monday },
      { start: after },
      { stop: after + 1 },
    ]) {
      for (const newest of [1, 2, 5]) {
        const found = await store.readNewest(series, range, newest);
        for (const [i, one] of series.entries()) {
          const told = JSON.stringify({ field: one.field, range, newest });
          const together = found[i];
          const alone = await store.read(one, { ...range, newest }).catch((error: unknown) => error);
          if (alone instanceof StoreError) {
            assert.is(together instanceof StoreError && together.code, alone.code, told);
          } else assert.equal(together, alone, told);
        }
      }
    }
    const [temp] = await store.readNewest([a], { stop: inShard }, 5);
    assert.ok(temp !== undefined && "values" in temp, "up to the refused");
    assert.equal([...temp.values], [1, 2]);
    const [other] = await store.readNewest([b], { stop: inShard }, 1);
    assert.ok(other !== undefined && "values" in other);
    assert.equal([...other.values], [2]);
    await close();
  });

  test("is not passed over in silence by an increase, which needs the point before its range", async () => {
    const server = await influx();
    const { store, close } = await open(server);
    const { a, after } = await conflictAmongGood(server, newDevice(), store);
    const increase = (edges: number[]) =>
      store.aggregate({
        series: a,
        edges,
        aggregate: "increase",
        calendar: { unit: "day", timezone: "UTC" },
      });
    assert.equal(await increase([after + 5, after + 30]), [2], "3 is readable, 4 and 5 follow");
    assert.is((await refusal(() => increase([after, after + 30]))).code, "MISMATCH");
    await close();
  });

  test("leaves windows before the first refused point alone", async () => {
    const server = await influx();
    const { store, close } = await open(server);
    const { b } = await conflictAmongGood(server, newDevice(), store);
    const edges = [monday - 86_400e6, monday, monday + 43_200e6, inShard];
    for (const aggregate of aggregates) {
      const query = { series: b, edges, aggregate, calendar: { unit: "day", timezone: "UTC" } } as const;
      const [first, ...others] = await store.aggregate(query);
      assert.is(
        first,
        { max: 2, min: 1, mean: 1.5, sum: 3, increase: 1, first: 1, last: 2, count: 2 }[aggregate],
      );
      assert.equal(others, [null, null], aggregate);
    }
    await close();
  });

  test("does not take the other series of `latest` with it", async () => {
    const server = await influx();
    const { store, close } = await open(server);
    const { a, b, hum } = await conflictAmongGood(server, newDevice(), store);
    // What lies after it goes: now the stretch is where the newest point would be.
    await store.removeDevices([b]);
    const [good, bad, also] = await store.latest([hum, b, a]);
    assert.equal(good, { time: inShard, value: 40 });
    assert.ok(also && "value" in also && also.value === 5);
    assert.ok(bad && "error" in bad && bad.error.code === "MISMATCH");
    assert.equal(Object.keys(bad.error.fields), ["temp"]);
    await close();
  });

  test("five thousand refused points, newest first, are one note a shard", async () => {
    const server = await influx();
    const ledger = memoryLedger();
    let notes = 0;
    const { store, conflicts, close } = await open(server, {
      ...ledger,
      keepConflict: async (conflict: FieldConflict) => {
        notes++;
        await ledger.keepConflict(conflict);
      },
    } as typeof ledger);
    const productID = newDevice();
    const series = { ...newSeries("number", "a", "temp"), productID };
    for (const shard of [monday, monday + week]) {
      await writeAs(server, `${productID},device=elsewhere temp="warm" ${shard}000`);
    }
    const points = Array.from({ length: 5000 }, (_, i) => [monday + 2 * week - 1 - i * 200e6, i] as const);
    assert.is(
      await refusedOf(store, pointsOf(series, ...points.map(([t, v]) => [t, v] as [number, number]))),
      5000,
    );
    assert.is(notes, 2);
    assert.is(conflicts.length, 2);
    const first = points.at(-1)?.[0];
    assert.is(Math.min(...ledger.known.map(({ start }) => start)), first);
    await close();
  });
});

influxSuite("the end of a field conflict", (test, influx) => {
  /** Refused once in the week of `monday`; `hum` of ours lies there, so that InfluxDB keeps the field's type. */
  async function begun(server: InfluxServer, fields: object = {}) {
    const ledger = memoryLedger();
    const opened = await open(server, ledger, fields);
    const productID = newDevice();
    const good = await conflictAmongGood(server, productID, opened.store);
    return { ...opened, ...good, ledger, productID };
  }
  const ends = (conflicts: Opened["conflicts"]) => conflicts.map(({ ended }) => ended);

  test("when the bucket has been made again", async () => {
    const server = { ...(await influx()), bucket: newDevice() };
    const { store, a, conflicts, ledger, made, close } = await begun(server);
    await removeBucket(server);
    assert.equal(await store.write(pointsOf(a, [monday + 2 * week, 7]), nextID()), []);
    assert.equal(made, [false, true]);
    assert.equal(ends(conflicts), [null, "bucket"]);
    assert.equal(ledger.known, []);
    assert.equal([...(await store.read(a, {})).values], [7]);
    await close();
  });

  test("when retention has passed it", async () => {
    const server = { ...(await influx()), bucket: newDevice() };
    const { store, b, conflicts, ledger, after, close } = await begun(server);
    await store.removeBefore(after - 1);
    assert.equal(ends(conflicts), [null], "its shard is not past yet");
    await store.removeBefore(after);
    assert.equal(ends(conflicts), [null, "retention"]);
    assert.equal(ledger.known, []);
    assert.equal([...(await store.read(b, {})).values], [3, 4, 5]);
    await close();
  });

  test("when it is found to hold no longer, though nobody writes there; not while its type is in the index", async () => {
    const server = await influx();
    const { store, b, conflicts, ledger, productID, close } = await begun(server, { probeMs: 50 });
    let looks = 0;
    const counted = ledger.conflicts;
    ledger.conflicts = () => {
      looks++;
      return counted();
    };
    const looked = async () => {
      const now = looks;
      await until(() => looks > now + 2, { what: "two whole looks" });
    };
    await looked();
    assert.equal(ends(conflicts), [null]);
    // The text goes; our own `hum` keeps the field's type alive, and InfluxDB's refusals and gaps with it.
    await removeWeeks(server, monday, 1, `_measurement="${productID}" AND device="elsewhere"`);
    await looked();
    assert.equal(ends(conflicts), [null]);
    assert.is((await refusal(() => store.read(b, {}))).code, "MISMATCH");
    await removeWeeks(server, monday, 1, `_measurement="${productID}"`);
    await until(() => ends(conflicts).at(-1) === "gone", { what: "the look to find it gone" });
    assert.equal(ledger.known, []);
    assert.equal([...(await store.read(b, {})).values], [1, 2, 3, 4, 5]);
    await close();
  });

  test("likewise where it was integers, and not before the measurement has no point there", async () => {
    const server = await influx();
    const ledger = memoryLedger();
    const { store, conflicts, close } = await open(server, ledger, { probeMs: 50 });
    const series = { ...newSeries("number", "a", "temp"), productID: newDevice() };
    await writeAs(server, `${series.productID},device=elsewhere temp=5i ${inShard}000`);
    assert.is(await refusedOf(store, pointsOf(series, [inShard, 1])), 1);
    let looks = 0;
    const counted = ledger.conflicts;
    ledger.conflicts = () => {
      looks++;
      return counted();
    };
    await until(() => looks > 2, { what: "a whole look" });
    assert.equal(ends(conflicts), [null]);
    await removeWeeks(server, monday, 1, `_measurement="${series.productID}"`);
    await until(() => ends(conflicts).at(-1) === "gone", { what: "the look to find it gone" });
    await close();
  });

  test("and begun, as another process has seen it", async () => {
    const server = await influx();
    const { a, b, conflicts, ledger, close } = await begun(server);
    const other = await open(server, ledger, { probeMs: 50 });
    const [first] = ledger.known;
    if (first === undefined) throw new Error("no conflict");
    await ledger.endConflict(first);
    await until(() => ends(other.conflicts).at(-1) === "forgotten", { what: "the end to be taken over" });
    await ledger.keepConflict(first);
    await until(() => ends(other.conflicts).length === 3, { what: "the conflict to be taken over" });
    for (const series of [a, b]) {
      assert.is((await refusal(() => other.store.read(series, {}))).code, "MISMATCH");
    }
    assert.equal(ends(conflicts), [null]);
    await other.close();
    await close();
  });
});

influxSuite("InfluxDB's bucket", (test, influx) => {
  test("that we made is made again when it has gone, and that is logged", async () => {
    const server = { ...(await influx()), bucket: newDevice() };
    const ledger = memoryLedger();
    const { store, made, states, close } = await open(server, ledger);
    assert.equal([made, ledger.origin], [[false], "made"]);
    const series = newSeries();
    await store.write(pointsOf(series, [inShard, 1]), nextID());
    await removeBucket(server);
    // A write and a query find at the same time that it is gone.
    const [refused, latest] = await Promise.all([
      store.write(pointsOf(series, [inShard + 1, 2]), nextID()),
      store.latest([newSeries()]),
    ]);
    assert.equal([refused, latest], [[], [null]]);
    assert.equal(made, [false, true]);
    assert.equal([...(await store.read(series, {})).values], [2]);
    await removeBucket(server);
    await close();
    const again = await open(server, ledger);
    assert.equal(again.made, [true], "also while we were away");
    assert.equal([states, again.states], [[], []]);
    await again.close();
  });

  test("is not used before it is found to be the right one, also where the server was away at the start", async () => {
    const server = { ...(await influx()), bucket: newDevice() };
    const seen: string[] = [];
    const state = { isRight: false };
    const onBucketFound = async (id: string): Promise<void> => {
      seen.push(id);
      if (!state.isRight) throw new InfluxUnavailable("bucket", "cannot use InfluxDB: it is another one");
    };
    await (await influx()).stop();
    const { store, states, close } = await open(server, memoryLedger(), { onBucketFound });
    assert.equal(seen, [], "there is nobody to ask");
    await (await influx()).start();
    const series = newSeries();
    for (const ask of [
      () => store.write(pointsOf(series, [inShard, 1]), nextID()),
      () => store.latest([series]),
      () => store.removeBefore(inShard),
    ]) {
      const error = await refusal(ask);
      assert.equal([error.code, error.message], ["UNAVAILABLE", "cannot use InfluxDB: it is another one"]);
    }
    assert.equal(states.at(-1)?.trouble, "bucket");
    state.isRight = true;
    assert.equal(await store.latest([series]), [null], "nothing has been written");
    assert.equal(await store.write(pointsOf(series, [inShard, 1]), nextID()), []);
    assert.equal([...new Set(seen)], [(await bucketOf(server)).id]);
    const before = seen.length;
    await store.write(pointsOf(series, [inShard + 1, 2]), nextID());
    assert.is(seen.length, before, "it is looked at once");
    await removeBucket(server);
    await store.write(pointsOf(series, [inShard, 3]), nextID());
    assert.is(seen.at(-1), (await bucketOf(server)).id, "the one that is made again, too");
    await close();
  });

  test("that somebody else made is not made again: it is named until it is back", async () => {
    const server = { ...(await influx()), bucket: newDevice() };
    const whole = await bucketOf(await influx());
    const make = () => operate(server, "POST", "/buckets", { orgID: whole.orgID, name: server.bucket });
    await make();
    const ledger = memoryLedger();
    const { store, made, states, close } = await open(server, ledger);
    assert.is(ledger.origin, "found");
    const series = newSeries();
    await removeBucket(server);
    for (const ask of [
      () => store.write(pointsOf(series, [inShard, 1]), nextID()),
      () => store.write(pointsOf(series, [inShard, 1]), nextID()),
      () => store.latest([series]),
      () => store.latest([series]),
    ]) {
      const error = await refusal(ask);
      assert.is(error.code, "UNAVAILABLE");
      assert.ok(error.message.includes(`bucket "${server.bucket}" is gone`), error.message);
    }
    assert.equal(
      states.map(({ way, trouble }) => [way, trouble]),
      [
        ["writes", "bucket"],
        ["queries", "bucket"],
      ],
      "reported once each",
    );
    await make();
    await store.write(pointsOf(series, [inShard, 1]), nextID());
    assert.equal(await store.latest([series]), [{ time: inShard, value: 1 }]);
    assert.equal(
      states.slice(2).map(({ way, trouble, awayMs }) => [way, trouble, awayMs >= 0]),
      [
        ["writes", null, true],
        ["queries", null, true],
      ],
    );
    assert.equal(made, []);
    await close();
  });
});

influxSuite("InfluxDB's token", (test, influx) => {
  /** A token with these permissions for the bucket alone. */
  async function tokenFor(server: InfluxServer, actions: readonly string[]): Promise<string> {
    const { id, orgID } = await bucketOf(server);
    const permissions = actions.map((action) => ({ action, resource: { type: "buckets", id, orgID } }));
    return ((await operate(server, "POST", "/authorizations", { orgID, permissions })) as { token: string })
      .token;
  }

  test("is tried at open, for writes and for queries, and what it lacks is logged once", async () => {
    const server = await influx();
    for (const [token, expected] of [
      ["wrong", ["writes token", "queries token"]],
      [await tokenFor(server, ["read"]), ["writes token"]],
      [await tokenFor(server, ["write"]), ["queries bucket"]],
      [await tokenFor(server, ["read", "write"]), []],
    ] as const) {
      const { store, states, made, close } = await open({ ...server, token });
      const told = () => states.map(({ way, trouble }) => `${way} ${trouble}`).sort();
      assert.equal(told(), [...expected].sort(), "before anything was written");
      await store.write(pointsOf(newSeries(), [inShard, 1]), nextID()).catch(() => undefined);
      await store.latest([newSeries()]).catch(() => undefined);
      assert.equal(told(), [...expected].sort(), "and not once more");
      assert.equal(made, []);
      await close();
    }
  });
});

suite("the probe of InfluxDB", (test) => {
  test("waits for its answers before it looks again, and one bad question is no trouble of the server", async () => {
    let [waiting, most, probes] = [0, 0, 0];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      const path = request.url ?? "";
      if (path.startsWith("/api/v2/buckets")) return response.end('{"buckets":[{}]}');
      if (path.startsWith("/api/v2/write")) {
        probes++;
        if (probes > 1) {
          most = Math.max(most, ++waiting);
          await held;
          waiting--;
        }
        return response.writeHead(204).end();
      }
      if (body.includes("device")) {
        response.writeHead(400, { "content-type": "application/json" });
        return response.end('{"code":"invalid","message":"compilation failed"}');
      }
      return response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const access = { url: `http://127.0.0.1:${port}`, token: "t", org: "o", bucket: "b" } as InfluxServer;
    const { store, states, close } = await open(access, memoryLedger(), { probeMs: 5 });
    await until(() => waiting === 1, { what: "a look under way" });
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.is(most, 1, "twenty turns later");
    const error = await refusal(() => store.read(newSeries(), {}));
    assert.is(error.code, "UNAVAILABLE");
    assert.ok(error.message.includes("compilation failed"), error.message);
    assert.equal(states, []);
    release();
    await until(() => probes > 3, { what: "the looks to go on" });
    assert.equal(states, []);
    await close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});
