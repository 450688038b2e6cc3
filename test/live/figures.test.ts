/** The figures that the overview shows of all nodes of a cluster. */

import type { ShardPlaces } from "../../ingest/directory/by-shard.js";
import { rateSeconds } from "../../ingest/rates.js";
import type { Route, RouteAnswer } from "../../src/http/route.js";
import { createFigures, figuresHere, type NodeFigures } from "../../src/live/figures.js";
import { overviewRoutes } from "../../src/routes/overview.js";
import { packedTimeZones } from "../../store/time-zones/packed.js";
import { assert, suite } from "../suite.js";

const seconds = (...newest: readonly number[]): number[] => [
  ...Array.from({ length: rateSeconds - newest.length }, () => 0),
  ...newest,
];

/** `work` is what it has of everything. */
function processOf(
  messages: readonly number[] | null,
  refused: readonly object[] = [],
  work = 1,
  sinceWholeSecondMs = 0,
  places: ShardPlaces = { here: [], elsewhere: new Map(), nowhere: [] },
) {
  const rated = messages && { messages: seconds(...messages), points: seconds(...messages, 0), refused };
  return {
    meter: {
      rates: { of: () => rated as never, all: () => rated as never, sinceWholeSecondMs },
      connections: work,
    },
    shards: () => places,
    status: {
      figures: () =>
        ({
          lag: { messages: work, seconds: work },
          commit: { p50Ms: work, p99Ms: 2 * work },
          disk: { freeBytes: 1000 * work, isFull: work === 3 },
        }) as never,
    },
  };
}

suite("figures of all nodes", (test) => {
  const here = processOf([1, 2], [{ reason: "unknown", count: 1 }]);
  const there = processOf(
    [10, 20],
    [
      { reason: "type", count: 5 },
      { reason: "unknown", count: 1 },
    ],
    2,
  );
  const last = processOf([100, 200], [], 3);

  const clock = { now: () => 5_000_000, monotonic: () => 0 };

  /** Answers as over a link. */
  function nodesOf(
    others: readonly ReturnType<typeof processOf>[],
    isAway: (node: number) => boolean = () => false,
  ) {
    const asked: number[] = [];
    return {
      asked,
      others: others.map((_, node) => node),
      call: async (node: number, body: object): Promise<unknown> => {
        asked.push(node);
        if (isAway(node)) throw new Error("it is away");
        const { tenant } = body as { tenant: number | null };
        return JSON.parse(JSON.stringify(figuresHere(others[node] as typeof here, tenant)));
      },
    };
  }
  const newest = (rates: NodeFigures["rates"]) => [rates?.messages.slice(-2), rates?.points.slice(-3)];

  test("are sums of what was counted, and the worst of what was measured", async () => {
    const { rates, truncated, endTime, sinceWholeSecondMs, ...rest } = await createFigures(
      { ...here, ...clock },
      nodesOf([there, last]),
    )(1);
    assert.equal(newest(rates), [
      [111, 222],
      [111, 222, 0],
    ]);
    assert.is(rates?.messages.length, rateSeconds);
    assert.equal(rates?.refused, [
      { reason: "type", count: 5 },
      { reason: "unknown", count: 2 },
    ]);
    assert.equal([truncated, endTime, sinceWholeSecondMs], [false, 5_000_000, 0]);
    assert.equal(rest, {
      connections: 6,
      lag: { messages: 6, seconds: 3 },
      commit: { p50Ms: 3, p99Ms: 6 },
      disk: { freeBytes: 1000, isFull: true },
    });
  });

  test("seconds that have ended later than the newest here wait for the next", async () => {
    const [late, early] = [processOf([1, 2], [], 1, 300), processOf([10, 20], [], 1, 700)];
    const { rates, endTime } = await createFigures({ ...late, ...clock }, nodesOf([early]))(1);
    assert.equal([newest(rates)[0], endTime], [[11, 22], 4_999_700]);
    const again = await createFigures({ ...early, ...clock }, nodesOf([late]))(1);
    assert.equal([newest(again.rates)[0], again.endTime], [[10, 21], 4_999_300]);
  });

  test("of a process that is alone are its own", async () => {
    const { rates, truncated, connections } = await createFigures({ ...here, ...clock }, null)(null);
    assert.equal([newest(rates)[0], truncated, connections], [[1, 2], false, 1]);
  });

  test("a tenant that one node does not count apart has no rates", async () => {
    const { rates, lag } = await createFigures({ ...here, ...clock }, nodesOf([processOf(null)]))(1);
    assert.equal([rates, lag.messages], [null, 2]);
  });

  test("a node that is away is missing, and is asked again after a while", async () => {
    let now = 0;
    let isAway = true;
    const nodes = nodesOf([there, last], (node) => isAway && node === 1);
    const figures = createFigures({ ...here, now: () => 0, monotonic: () => now }, nodes);
    for (let i = 0; i < 5; i++) {
      const { connections, truncated } = await figures(1);
      assert.equal([connections, truncated], [3, true]);
      now += 900;
    }
    assert.is(nodes.asked.filter((node) => node === 1).length, 1);
    isAway = false;
    now += 5000;
    const { connections, truncated } = await figures(1);
    assert.equal([connections, truncated], [6, false]);
  });

  test("are of each shard once, or not whole", async () => {
    const at = (here: readonly number[], ...rest: readonly [(readonly number[])?, (readonly number[])?]) => {
      const [there = [], nowhere = []] = rest;
      return processOf([1], [], 1, 0, { here, elsewhere: new Map([[0, there]]), nowhere });
    };
    const isWhole = async (asking: ReturnType<typeof at>, asked: ReturnType<typeof at>): Promise<boolean> =>
      !(await createFigures({ ...asking, ...clock }, nodesOf([asked]))(1)).truncated;
    assert.is(await isWhole(at([1, 2], [3, 4]), at([3, 4])), true);
    assert.is(await isWhole(at([1, 2], [3, 4]), at([3])), false, "one is not there any more, or not yet");
    assert.is(await isWhole(at([1], [3, 4], [2]), at([3, 4])), false, "one is at no node");
    assert.is(await isWhole(at([1, 2], [3, 4]), at([2, 3, 4])), false, "one is at two");
    assert.is(await isWhole(at([1, 2], [3], [4]), at([3, 4])), true, "the other knows better");
  });

  test("what are no figures is missing", async () => {
    const nodes = { others: [1], call: async () => ({ rates: null }) };
    assert.is((await createFigures({ ...here, ...clock }, nodes)(1)).truncated, true);
  });
});

/** The first tenant runs the deployment. */
const deploymentTenant = 1;

suite("the overview of all nodes", (test) => {
  test("says that something is missing where it is of the tenant or of the deployment", async () => {
    const told = (missingOf: number | null | undefined, role: "admin" | "viewer") => {
      const { meter, status } = processOf([1]);
      const figures = createFigures({ ...processOf([1]), now: () => 0, monotonic: () => 0 }, null);
      const deps = {
        db: { snapshot: async () => [] },
        meter,
        status: { ...status, notReady: () => null, degraded: () => ({}) },
        build: { version: "1" },
        config: { influx: null, timeZones: packedTimeZones() },
        now: () => 0,
        figures: async (tenant: number | null) => ({
          ...(await figures(tenant)),
          truncated: tenant === missingOf,
        }),
      };
      const [{ spec }] = overviewRoutes(deps as never) as [Route];
      return spec.handle({
        caller: { tenant: deploymentTenant, role },
        writing: { stamp: String },
      } as never) as Promise<RouteAnswer>;
    };
    const isTruncated = async (...asked: Parameters<typeof told>): Promise<boolean> =>
      (await told(...asked)).headers?.Truncated === "true";
    assert.equal(
      [await isTruncated(undefined, "admin"), await isTruncated(undefined, "viewer")],
      [false, false],
    );
    assert.equal(
      [await isTruncated(deploymentTenant, "admin"), await isTruncated(deploymentTenant, "viewer")],
      [true, true],
    );
    assert.equal([await isTruncated(null, "admin"), await isTruncated(null, "viewer")], [true, false]);
  });
});
