/** Reader threads of the embedded store are shared by tenants: many slow queries of one do not hold up another's. */
import { createHandles } from "../../../../store/series/embedded/handles.js";
import { openLibsqlSeriesStore } from "../../../../store/series/embedded/open.js";
import type { FindAnswer } from "../../../../store/series/embedded/protocol.js";
import { createLibsqlReader, queriesPerReader } from "../../../../store/series/embedded/queries.js";
import { createQuerySemaphore } from "../../../../store/series/query-semaphore.js";
import type { SeriesRef } from "../../../../store/series/series.js";
import { assert, rejects, suite, until, withTempDir } from "../../../suite.js";

const refOf = (tenant: number, field = "n"): SeriesRef => ({
  tenant,
  productID: "p",
  deviceID: "d",
  field,
  kind: "number",
});
const calendar = { unit: "day", timezone: "UTC" } as const;
const part = { start: 0, stop: 1e15, path: "points-1970-01.db" };
const empty = { times: new Float64Array(0), values: new Float64Array(0) };

/** Queries over readers that answer by hand; `begun` has the tenants whose query reached a reader. */
function gated(readers: number) {
  const begun: number[] = [];
  const found: number[] = [];
  const ends: (() => void)[] = [];
  const tenants: number[] = [];
  const handles = createHandles();
  const of = (ref: SeriesRef): number => {
    const handle = handles.of(ref);
    tenants[handle] = ref.tenant;
    return handle;
  };
  const deps = {
    handles: { ...handles, of },
    semaphore: createQuerySemaphore(queriesPerReader * readers),
    ask: async (name: string, args: unknown) => {
      const handle = name === "find" ? (args as { handle: number }).handle : ((args as Int32Array)[0] ?? -1);
      const tenant = tenants[handle] ?? -1;
      found.push(tenant);
      const answer: FindAnswer = { id: tenant, memory: null, before: null, floor: 0, parts: [part] };
      return name === "find"
        ? answer
        : { ids: [tenant], memory: [null], floor: 0, parts: [{ ...part, has: [1] }] };
    },
    readers: {
      call: (name: string, args: { id?: number; ids?: number[] }) => {
        begun.push(args.id ?? args.ids?.[0] ?? -1);
        const answer = { read: empty, extremes: empty, aggregate: { values: [], errors: 0 }, latest: [null] };
        return new Promise((resolve) => ends.push(() => resolve(answer[name as keyof typeof answer])));
      },
    },
  } as unknown as Parameters<typeof createLibsqlReader>[0];
  const of2 = (signal: AbortSignal | null = null) => createLibsqlReader(deps, signal);
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 30; turn++) await Promise.resolve();
  };
  const end = async (): Promise<void> => {
    ends.shift()?.();
    await settle();
  };
  return { questions: of2, begun, found, ends, settle, end };
}

suite("turns at the series readers", (test) => {
  test("of every kind of question a tenant has nearly all places, and another's is next", async () => {
    const kinds = {
      read: (tenant: number) => (of: ReturnType<typeof createLibsqlReader>) => of.read(refOf(tenant), {}),
      extremes: (tenant: number) => (of: ReturnType<typeof createLibsqlReader>) =>
        of.extremes({ series: refOf(tenant), start: 0, stop: 10, width: 1, exactMax: 0 }),
      aggregate: (tenant: number) => (of: ReturnType<typeof createLibsqlReader>) =>
        of.aggregate({ series: refOf(tenant), edges: [0, 10], aggregate: "mean", calendar }),
      latest: (tenant: number) => (of: ReturnType<typeof createLibsqlReader>) => of.latest([refOf(tenant)]),
    };
    for (const [kind, asks] of Object.entries(kinds)) {
      const { questions, begun, found, ends, settle, end } = gated(2);
      const asked: Promise<unknown>[] = Array.from({ length: 40 }, () => asks(1)(questions()));
      await settle();
      assert.equal(begun, [1, 1, 1], kind);
      asked.push(asks(2)(questions()));
      await settle();
      assert.equal(begun, [1, 1, 1, 2], `${kind}: the last place is another's, at once`);
      assert.equal(found, begun, "what waits is held by nobody: the writer has not named its files yet");
      asked.push(asks(3)(questions()));
      await end();
      assert.is(begun.at(-1), 3, `${kind}: before the 37 that waited first`);
      while (ends.length > 0) await end();
      await Promise.all(asked);
      assert.is(begun.length, 42);
    }
  });

  test("a caller that leaves while its query waits asks nothing, and keeps no place", async () => {
    const { questions, begun, settle, end, ends } = gated(1);
    const first = questions().read(refOf(1), {});
    const gone = new AbortController();
    const waiting = questions(gone.signal).read(refOf(1), {});
    const behind = questions().read(refOf(1), {});
    await settle();
    assert.equal(begun, [1]);
    gone.abort();
    await rejects(() => waiting, /the asker has left/);
    await rejects(() => questions(gone.signal).read(refOf(1), {}), /the asker has left/);
    await end();
    assert.equal(begun, [1, 1]);
    while (ends.length > 0) await end();
    await Promise.all([first, behind]);
  });

  test("a store is asked by one tenant for much and by another for one point: that is answered among the first", () =>
    withTempDir(async (dir) => {
      const store = await openLibsqlSeriesStore({ dir, readers: 2 });
      const points = Array.from({ length: 60_000 }, (_, i) => ({
        series: refOf(1),
        time: 1.7e15 + i * 1e6,
        value: i,
        serverStamped: false,
      }));
      await store.write([...points, { ...points[0], series: refOf(2), time: 1.7e15, value: 7 } as never], 1);
      await store.flush();
      let answered = 0;
      // So many that the last of them is far away on any machine.
      const slow = Array.from({ length: 400 }, () =>
        store.read(refOf(1), {}).then(() => {
          answered++;
        }),
      );
      await until(() => answered > 0, { what: "the first answer" });
      const before = answered;
      const [small] = await store.latest([refOf(2)]);
      const passed = answered - before;
      assert.ok(small !== null && small !== undefined);
      // In a line for all of them it would be the last.
      assert.ok(passed <= slow.length / 2, `${passed} others were answered first`);
      await Promise.all(slow);
      await store.close();
    }));
});
