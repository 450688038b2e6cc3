import { createServer, request as requestOf, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { StoreError } from "../../store/lib/errors.js";
import type { InfluxState } from "../../store/series/influx/health.js";
import { openInfluxSeriesStore } from "../../store/series/influx/open.js";
import type { Point, SeriesStore } from "../../store/series/series.js";
import type { InfluxServer } from "../influxd/influxd.js";
import { memoryLedger } from "../influxd/ledger.js";
import { assert, influxSuite, rejects, suite, until } from "../suite.js";
import { defineSeriesContract, newDevice, newSeries, nextID, pointsOf } from "./series.js";
import { batchOf } from "./series-columns.js";
import { pairsOf } from "./series-oracle.js";
import { defineShards } from "./series-shards.js";

const base = Date.UTC(2025, 2, 1) * 1000;

function memoryCheckpoint() {
  const kept = new Map<number, number>();
  const checkpoint = (shard: number) => ({
    read: async () => kept.get(shard) ?? 0,
    write: async (id: number) => {
      kept.set(shard, id);
    },
  });
  return { kept, checkpoint };
}

function openOn(server: InfluxServer, checkpoint = memoryCheckpoint().checkpoint, firstShard = 0) {
  const { url, token, org, bucket } = server;
  const own = { firstShard, checkpoint, ledger: memoryLedger(), timeoutMs: 10_000 };
  return openInfluxSeriesStore({ url, token, org, bucket, ...own });
}

influxSuite("series contract, InfluxDB", (test, influx) => {
  const { checkpoint } = memoryCheckpoint();
  defineSeriesContract(test, async () => openOn(await influx(), checkpoint));
  const unsteady = memoryCheckpoint();
  defineShards(test, async () => {
    const server = await influx();
    return {
      open: () => openOn(server, unsteady.checkpoint),
      refuse: async () => server.kill(),
      serve: async () => server.start(),
    };
  });
});

influxSuite("series in InfluxDB", (test, influx) => {
  const using = async (use: (store: SeriesStore) => Promise<void>, firstShard = 0) => {
    const store = await openOn(await influx(), undefined, firstShard);
    try {
      await use(store);
    } finally {
      await store.close();
    }
  };

  test("any text round-trips, lone surrogates as U+FFFD", () =>
    using(async (store) => {
      const text = fc.string({ unit: "binary", maxLength: 40 });
      const lone = fc.constantFrom("\ud800", "a\udfffb", "\u0000", "x\u0000y", "\ufffe", "\ufeffx");
      await fc.assert(
        fc.asyncProperty(fc.array(fc.oneof(text, lone), { minLength: 1, maxLength: 40 }), async (values) => {
          const series = newSeries("text");
          await store.write(
            pointsOf(series, ...values.map((v, i): [number, string] => [base + i, v])),
            nextID(),
          );
          const wanted = values.map((value) => Buffer.from(value, "utf8").toString("utf8"));
          assert.equal((await store.read(series, {})).values, wanted);
        }),
        { numRuns: 60, endOnFailure: true },
      );
    }));

  test("any number round-trips", () =>
    using(async (store) => {
      const number = fc.double({ noDefaultInfinity: true, noNaN: true });
      await fc.assert(
        fc.asyncProperty(fc.array(number, { minLength: 1, maxLength: 100 }), async (values) => {
          const series = newSeries();
          await store.write(
            pointsOf(series, ...values.map((v, i): [number, number] => [base + i, v])),
            nextID(),
          );
          const read = [...(await store.read(series, {})).values];
          assert.ok(
            read.every((value, i) => Object.is(value, values[i])),
            `${values}\n${read}`,
          );
        }),
        { numRuns: 60, endOnFailure: true },
      );
    }));

  test("server stamps of two nodes are two points of the engine and one of a read; client stamps fall together", () =>
    using(async (first) =>
      using(async (second) => {
        const series = newSeries();
        const stamped = (value: number): Point[] => [{ series, time: base, value, serverStamped: true }];
        await second.write(stamped(2), 0);
        await first.write(stamped(1), 0);
        assert.equal(pairsOf(await first.read(series, {})), [[base, 2]]);
        assert.equal(pairsOf(await first.read(series, { newest: 5 })), [[base, 2]]);
        await second.write(pointsOf(series, [base + 1, 3]), nextID());
        await first.write(pointsOf(series, [base + 1, 4]), nextID());
        assert.equal(await second.latest([series]), [{ time: base + 1, value: 4 }]);
      }, 7),
    ));

  test("bad points are refused one by one and the rest of the batch is stored", () =>
    using(async (store) => {
      const productID = newDevice();
      const good = { ...newSeries(), productID };
      const asText = { ...newSeries("text", good.deviceID, "f"), productID };
      const asNumber = { ...newSeries("number", good.deviceID, "f"), productID };
      await store.write(pointsOf(asText, [base, "x"]), nextID());
      const bad = [
        ...pointsOf(asNumber, [base + 5, 1], [base + 77, 2]),
        ...pointsOf(good, [base + 900, Number.NaN], [Number.MAX_VALUE, 1], [base + 901, "text"]),
      ];
      const fine = Array.from({ length: 200 }, (_, i) => pointsOf(good, [base + i, i])).flat();
      const batch = [...fine, ...bad].sort((a, b) => a.time - b.time);
      const refused = await store.write(batch, nextID());
      assert.equal(new Set(refused.map(({ point }) => point)), new Set(bad));
      assert.ok(refused.every(({ reason }) => reason.length > 0));
      assert.equal(refused.filter(({ reason }) => reason.includes("field type conflict")).length, 2);
      assert.is((await store.read(good, {})).times.length, 200);
    }));

  test("only the bad points of a batch of columns are refused, too, each by its place", () =>
    using(async (store) => {
      const productID = newDevice();
      const good = { ...newSeries(), productID };
      const asText = { ...newSeries("text", good.deviceID, "f"), productID };
      const asNumber = { ...newSeries("number", good.deviceID, "f"), productID };
      await store.write(pointsOf(asText, [base, "x"]), nextID());
      const rows = Array.from({ length: 300 }, (_, i) => [i % 100 === 50 ? 1 : 0, base + i, i] as const);
      const refused = await store.writeBatch(batchOf([good, asNumber], ...rows));
      assert.equal(
        refused.map(({ index }) => index).sort((a, b) => a - b),
        [50, 150, 250],
      );
      assert.ok(refused.every(({ reason }) => reason.length > 0));
      assert.is((await store.read(good, {})).times.length, 297);
    }));

  test("all fields of a device are asked for by a few questions, however many they are", async () => {
    const { url, token, org, bucket } = await influx();
    let questions = 0;
    const proxy = createServer((request, response) => {
      if (request.url?.startsWith("/api/v2/query")) questions += 1;
      const { method = "GET", headers } = request;
      const onward = requestOf(new URL(request.url ?? "/", url), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      request.pipe(onward);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const { port } = proxy.address() as AddressInfo;
    const own = { firstShard: 0, ...memoryCheckpoint(), ledger: memoryLedger(), probeMs: 1e6 };
    const store = await openInfluxSeriesStore({
      url: `http://127.0.0.1:${port}`,
      token,
      org,
      bucket,
      ...own,
    });
    try {
      const deviceID = newDevice();
      const kinds = ["number", "text", "boolean"] as const;
      const fields = Array.from({ length: 180 }, (_, n) =>
        newSeries(kinds[n % 3] ?? "number", deviceID, `f${n}`),
      );
      const sample = ({ kind }: { kind: string }, i: number) =>
        kind === "text" ? `${i}` : kind === "number" ? i : i % 2 === 0;
      for (let i = 0; i < 20; i += 1) {
        const points = fields.flatMap((one) => pointsOf(one, [base + i * 60e6, sample(one, i)]));
        await store.write(points, nextID());
      }
      questions = 0;
      const found = await store.readNewest(fields, { stop: base + 3_600e6 }, 12);
      for (const [n, columns] of found.entries()) {
        assert.ok("times" in columns);
        assert.is(columns.times.length, 12, `field ${n}`);
        assert.is(columns.times.at(-1), base + 19 * 60e6);
      }
      assert.ok(questions <= 4, `${questions} questions`);
      questions = 0;
      await store.readNewest(fields, {}, 100);
      assert.ok(questions <= 12, `${questions} questions for all that there is`);
    } finally {
      await store.close();
      proxy.close();
    }
  });

  test("a missing bucket is made at open", async () => {
    const server = await influx();
    const store = await openOn({ ...server, bucket: newDevice() });
    const series = newSeries();
    await store.write(pointsOf(series, [base, 1]), nextID());
    assert.equal(await store.latest([series]), [{ time: base, value: 1 }]);
    await store.close();
  });

  test("a wrong token is UNAVAILABLE, not a loss", async () => {
    const server = await influx();
    const store = await openOn({ ...server, token: "wrong" });
    const error = await rejects(() => store.write(pointsOf(newSeries(), [base, 1]), 9), /InfluxDB/);
    assert.is(error instanceof StoreError && error.code, "UNAVAILABLE");
    assert.is(await store.checkpoint(), 0);
    await store.close();
  });

  test("a server that goes and comes back costs waiting and nothing else", async () => {
    const server = await influx();
    const { kept, checkpoint } = memoryCheckpoint();
    const store = await openOn(server, checkpoint);
    const series = newSeries();
    const batch = (from: number) =>
      pointsOf(
        series,
        ...Array.from({ length: 100 }, (_, i): [number, number] => [base + from + i, from + i]),
      );
    await store.write(batch(0), 1);
    await server.kill();
    for (const act of [
      () => store.write(batch(100), 2),
      () => store.read(series, {}),
      () => store.latest([series]),
      () => store.removeDevices([series]),
    ]) {
      const error = await rejects(act);
      assert.is(error instanceof StoreError && error.code, "UNAVAILABLE");
    }
    const opened = await openOn(server);
    await server.start();
    await store.write(batch(200), 3);
    assert.is(await store.checkpoint(), 1, "2 is still missing");
    await until(() => store.write(batch(100), 2).then(() => true), { what: "the batch again" });
    assert.is(await store.checkpoint(), 3);
    assert.is((await opened.read(series, {})).times.length, 300);
    await store.close();
    await opened.close();
    assert.is(kept.get(0), 3);
  });
});

suite("series store against a server that misbehaves", (test) => {
  test("busy, broken and silent servers are UNAVAILABLE, with the pause they ask for", async () => {
    let answer: { status: number; headers?: Record<string, string> } | undefined = { status: 500 };
    const server = createServer((request, response) => {
      request.resume();
      if (answer) response.writeHead(answer.status, answer.headers).end("{}");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const told: InfluxState[] = [];
    const store = await openInfluxSeriesStore({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      token: "t",
      org: "o",
      bucket: "b",
      firstShard: 0,
      timeoutMs: 200,
      checkpoint: memoryCheckpoint().checkpoint,
      ledger: memoryLedger(),
      onState: (state) => void told.push(state),
    });
    const fail = async (next: typeof answer) => {
      answer = next;
      const error = await rejects(() => store.write(pointsOf(newSeries(), [base, 1]), 1));
      if (!(error instanceof StoreError)) throw error;
      assert.is(error.code, "UNAVAILABLE");
      return error.fields;
    };
    assert.equal(await fail({ status: 429, headers: { "retry-after": "7" } }), { retryAfterMs: "7000" });
    assert.equal(await fail({ status: 503 }), {});
    assert.equal(await fail({ status: 400 }), {}, "a 400 that blames no line");
    assert.equal(await fail(undefined), {}, "no answer at all");
    const writes = told.filter(({ way }) => way === "writes").map(({ trouble }) => trouble);
    assert.equal(writes, ["away", "busy", "away", "timeout"]);
    await store.close();
    server.closeAllConnections();
    server.close();
  });
});

suite("queries of callers who leave, InfluxDB", (test) => {
  test("end at the server, and what waited after them of the same tenant never begins", async () => {
    const open = new Set<ServerResponse>();
    let begun = 0;
    const server = createServer((request, response) => {
      request.resume();
      if (!request.url?.startsWith("/api/v2/query")) return void response.writeHead(204).end();
      begun += 1;
      open.add(response);
      response.on("close", () => open.delete(response));
      response.writeHead(200, { "content-type": "text/csv" });
      response.flushHeaders();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const opening = openInfluxSeriesStore({
      url: `http://127.0.0.1:${port}`,
      token: "t",
      org: "o",
      bucket: "b",
      firstShard: 0,
      ...memoryCheckpoint(),
      ledger: memoryLedger(),
      timeoutMs: 60_000,
      probeMs: 1e6,
    });
    // The probe's own query is answered at once.
    await until(() => open.size > 0, { what: "the probe" });
    for (const response of open) response.end();
    const store = await opening;
    begun = 0;
    const leaver = new AbortController();
    const asked = store.under(leaver.signal);
    const series = newSeries();
    const answers = Array.from({ length: 40 }, () => asked.read(series, { start: base, stop: base + 1 }));
    const ends = Promise.allSettled(answers);
    await until(() => begun >= 10, { what: "as many questions as one tenant may have under way" });
    const neighbour = store.read({ ...series, tenant: 2 }, { start: base, stop: base + 1 });
    await until(() => begun === 11, { what: "a neighbour's question beside them" });
    leaver.abort();
    assert.ok((await ends).every(({ status }) => status === "rejected"));
    await until(() => open.size === 1, { what: "the end of what was abandoned" });
    assert.is(begun, 11);
    for (const response of open) response.end();
    assert.is((await neighbour).times.length, 0);
    await store.close();
    server.closeAllConnections();
    server.close();
  });
});
