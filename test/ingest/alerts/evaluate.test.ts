import fc from "fast-check";
import { compileRules } from "../../../ingest/alerts/compiled-rules.js";
import { evaluate, evaluateInSlices, formatDetail, isHeavy } from "../../../ingest/alerts/evaluate.js";
import { type FenceScope, parseScopes } from "../../../ingest/alerts/fences.js";
import {
  alertEventsMax,
  type DeviceState,
  lengthMax,
  newState,
  toDeviceIngest,
} from "../../../ingest/alerts/rule-state.js";
import type { DecodedPoint } from "../../../ingest/decode/points.js";
import { compileFormula, storedFormulaOptions } from "../../../query/formula/formula.js";
import type { AlertRule } from "../../../store/metadata/alerts/alert-rules.js";
import { assert, suite, watchTurns } from "../../suite.js";
import { makePoint } from "./support.js";

const upper = 5;
const rule = { id: 9, alertName: "r", alertContent: "r", alertSeverity: 2, dataPointIntID: 1, duration: 0 };

const compile = (text: string) => {
  const formula = compileFormula(text, new Set(), storedFormulaOptions);
  return { variables: formula.variables, weight: formula.weight, evaluate: formula.row() };
};
const plan = await compileRules(
  [makePoint(1, "a", { upperLimit: upper }), makePoint(2, "b")],
  [],
  [{ ...rule, condition: "dataPoint > b" } as AlertRule],
  compile,
);

interface Sent {
  readonly id: 1 | 2;
  readonly time: number;
  readonly value: number;
}

const toPoint = ({ id, time, value }: Sent): DecodedPoint => ({
  time,
  value,
  serverStamped: false,
  series: {
    tenant: 1,
    productID: "p",
    deviceID: "d",
    field: id === 1 ? "a" : "b",
    kind: "number",
    dataPointIntID: id,
    isLocation: false,
  },
});

const fresh = (): DeviceState => newState({ id: 1, tenant: 1 }, undefined, []);

function run(
  state: DeviceState,
  id: number,
  message: readonly Sent[],
  { by = plan, scopes = [] as readonly FenceScope[], receivedAt = 0 } = {},
): void {
  const points = message.map(toPoint);
  evaluate(by, state, {
    id,
    receivedAt,
    points,
    from: 0,
    detail: formatDetail(points, 0),
    isDiscarded: false,
    scopes,
  });
}

/** Alerts as the store would hold them: times of each, ended or not, in the order of their beginning. */
function alertsOf(states: readonly DeviceState[], cause: string): [times: number, ended: boolean][] {
  const alerts: [number, boolean][] = [];
  for (const effect of states.flatMap((state) => state.effects)) {
    if (effect.kind === "raise" && effect.trigger.cause === cause) {
      const last = alerts.at(-1);
      if (last === undefined || last[1]) alerts.push([effect.times, false]);
      else last[0] += effect.times;
    } else if (effect.kind === "end" && effect.cause === cause) {
      const last = alerts.at(-1);
      if (last !== undefined) last[1] = true;
    }
  }
  return alerts;
}

/** A plain model of the same: every used value of `a` in order; a message counts once for an alert. */
function expectedOfLimit(messages: readonly (readonly Sent[])[]): [number, boolean][] {
  const alerts: [number, boolean][] = [];
  let newest = Number.NEGATIVE_INFINITY;
  for (const message of messages) {
    let counted: [number, boolean] | null = null;
    const ordered = message.map((one, at) => ({ ...one, at })).sort((x, y) => x.time - y.time || x.at - y.at);
    for (const { id, time, value } of ordered) {
      if (id !== 1 || time < newest) continue;
      newest = time;
      const last = alerts.at(-1);
      const open = last !== undefined && !last[1] ? last : null;
      if (value <= upper) {
        if (open !== null) open[1] = true;
      } else if (open === null) {
        counted = [1, false];
        alerts.push(counted);
      } else if (open !== counted) {
        open[0]++;
        counted = open;
      }
    }
  }
  return alerts;
}

const sent = fc.record({
  id: fc.constantFrom(1, 2) as fc.Arbitrary<1 | 2>,
  time: fc.integer({ min: 0, max: 12 }),
  value: fc.integer({ min: 0, max: 10 }),
});
const messages = fc.array(fc.array(sent, { maxLength: 4 }), { maxLength: 12 });

suite("evaluation of messages", (test) => {
  test("alerts of a limit are those of the values in their order, each message counted once", () => {
    fc.assert(
      fc.property(messages, (all) => {
        const state = fresh();
        for (const [i, message] of all.entries()) run(state, i + 1, message);
        assert.equal(alertsOf([state], "upper:1"), expectedOfLimit(all));
      }),
      { numRuns: 2000 },
    );
  });

  test("a restart between any two messages changes nothing", () => {
    fc.assert(
      fc.property(messages, fc.nat(), (all, cut) => {
        const whole = fresh();
        for (const [i, message] of all.entries()) run(whole, i + 1, message);
        const first = fresh();
        const at = all.length === 0 ? 0 : cut % all.length;
        for (const [i, message] of all.slice(0, at).entries()) run(first, i + 1, message);
        const kept = JSON.parse(JSON.stringify(toDeviceIngest(first)));
        const second = newState({ id: 1, tenant: 1 }, kept, [...first.active]);
        for (const [i, message] of all.slice(at).entries()) run(second, at + i + 1, message);
        for (const cause of ["upper:1", "rule:9"]) {
          assert.equal(alertsOf([first, second], cause), alertsOf([whole], cause));
        }
      }),
      { numRuns: 1000 },
    );
  });

  const swinging = (count: number, last: number): Sent[] =>
    Array.from({ length: count }, (_, i): Sent => {
      const value = i === count - 1 ? last : i % 2 === 0 ? 9 : 1;
      return { id: 1, time: i, value };
    });

  test("a cause that swings within a message keeps some alerts; the rest is counted, the last point decides", () => {
    for (const begun of [false, true]) {
      for (const last of [1, 9]) {
        for (const count of [9, 10, 11, 12, 13, 9900, 9901]) {
          const state = fresh();
          if (begun) run(state, 1, [{ id: 1, time: -1, value: 9 }]);
          const before = state.effects.length;
          run(state, 2, swinging(count, last));
          assert.ok(
            state.effects.length - before <= alertEventsMax.ofCause + 2,
            `${state.effects.length} effects`,
          );
          const all = alertsOf([state], "upper:1");
          assert.is(all.at(-1)?.[1], last === 1, `${count} points, the last ${last}`);
          assert.is(state.active.has("upper:1"), last === 9);
          assert.equal([state.alertEvents.size, state.heldBack.size], [0, 0]);
          // The next message goes on from there.
          run(state, 3, [{ id: 1, time: count, value: 9 }]);
          const next = alertsOf([state], "upper:1");
          assert.is(next.length, last === 9 ? all.length : all.length + 1);
          assert.is(next.at(-1)?.[1], false);
        }
      }
    }
  });

  test("points of one time swing no further", () => {
    const state = fresh();
    const same = swinging(9900, 9).map((one) => ({ ...one, time: 5 }));
    run(state, 1, same);
    assert.ok(state.effects.length <= alertEventsMax.ofCause + 1);
    assert.is(state.active.has("upper:1"), true);
  });

  test("many causes that swing in one message are bounded together; each is left as its last point says", async () => {
    const limits = 300;
    const by = await compileRules(
      Array.from({ length: limits }, (_, i) => makePoint(i + 1, `p${i}`, { upperLimit: upper })),
      [],
      [],
      compile,
    );
    const swing = (instants: number, last: number, field = "x") =>
      Array.from({ length: instants * limits }, (_, i) => {
        const at = Math.floor(i / limits);
        const one = toPoint({ id: 1, time: at, value: at === instants - 1 ? last : at % 2 === 0 ? 9 : 1 });
        const dataPointIntID = 1 + (i % limits);
        return { ...one, series: { ...one.series, field: `${field}${dataPointIntID}`, dataPointIntID } };
      });
    for (const last of [1, 9]) {
      const state = fresh();
      const points = swing(33, last);
      const left = evaluate(by, state, { ...observed([]), points });
      assert.ok(state.effects.length <= alertEventsMax.ofMessage + limits, `${state.effects.length} effects`);
      assert.is(state.active.size, last === 9 ? limits : 0);
      const alertEvents = limits * (last === 9 ? 33 : 32 + 1);
      assert.ok(left.alertEvents > 0 && left.alertEvents + state.effects.length <= alertEvents);
      for (let id = 1; id <= limits; id++)
        assert.is(alertsOf([state], `upper:${id}`).at(-1)?.[1] ?? true, last === 1);
    }
    // A long detail: alerts that are left behind beyond the bound are there without it.
    const state = fresh();
    const detail = JSON.stringify({ text: "x".repeat(16_000) });
    const message = { ...observed([]), points: swing(1, 9), detail: () => detail };
    const left = evaluate(by, state, message);
    assert.is(state.active.size, limits);
    assert.ok(left.details > 0);
    let length = 0;
    for (const effect of state.effects) if (effect.kind === "raise") length += effect.detail.length;
    assert.ok(length <= lengthMax && length > lengthMax / 2, `${length} characters`);
    // The next message has as much again.
    assert.equal({ ...state.ofMessage }, { alertEvents: 0, heldBack: 0, length: 0, details: 0 });
  });

  test("the rules of a product with many data points, rules and columns are compiled in slices, and linear", async () => {
    const size = 20_000;
    const points = Array.from({ length: size }, (_, i) => makePoint(i + 1, `p${i}`, { upperLimit: upper }));
    const resources = points.map(({ id }) => ({ codeValue: "serialNumber", dataPointIntID: id }));
    const rules = Array.from({ length: 100 }, (_, i) => ({
      ...rule,
      id: i + 1,
      dataPointIntID: 1 + i,
      condition: `dataPoint > lastValue + p${size - 1 - i}`,
    })) as AlertRule[];
    const turns = watchTurns();
    const made = await compileRules(points, resources, rules, compile);
    const { count, longestMs } = turns.stop();
    // In one piece it is one turn; a fast machine needs few slices.
    assert.ok(count > 4 && longestMs < 100, `${count} turns, the longest of ${longestMs} ms`);
    assert.equal(
      [1, size, 500].map((id) => made.points.get(id)?.rules.map((one) => one.id)),
      [[1], [1], []],
    );
    assert.equal(made.points.get(7)?.columns, ["serialNumber"]);
    assert.is(made.causes.size, size + 100);
  });

  const slow = (rules: number, condition: string) =>
    compileRules(
      [makePoint(1, "a"), makePoint(2, "b")],
      [],
      Array.from({ length: rules }, (_, i) => ({ ...rule, id: i + 1, condition })) as AlertRule[],
      compile,
    );
  const observed = (message: readonly Sent[], id = 1) => ({
    id,
    receivedAt: 0,
    points: message.map(toPoint),
    from: 0,
    detail: () => "{}",
    isDiscarded: false,
    scopes: [],
  });

  test("a heavy message is recognised by its points and its rules, and lets others in", async () => {
    const condition = Array(20).fill("round(dataPoint,3)").join("+");
    const by = await slow(20, `${condition} > 100`);
    assert.is(isHeavy(plan, [], 50), false);
    assert.is(isHeavy(by, [], 3), false);
    assert.is(isHeavy(by, [], 300), true);
    const message = observed(swinging(300, 9));
    let turns = 0;
    let ended = false;
    const counting = (async () => {
      for (; !ended; turns++) await new Promise((resolve) => setImmediate(resolve));
    })();
    const sliced = fresh();
    const counted = await evaluateInSlices(by, sliced, message, () => false);
    ended = true;
    await counting;
    assert.ok(turns > 2, `${turns} turns`);
    const whole = fresh();
    assert.equal(evaluate(by, whole, message), counted);
    assert.equal(JSON.stringify(sliced.effects), JSON.stringify(whole.effects));
    assert.equal([...sliced.active], [...whole.active]);
  });

  test("one that is stopped says so", async () => {
    assert.is(await evaluateInSlices(plan, fresh(), observed(swinging(10, 9)), () => true), null);
  });

  test("rules that have taken too long of one message are looked at once more, at its last time", async () => {
    let evaluated = 0;
    const by = await compileRules(
      [makePoint(1, "a")],
      [],
      [{ ...rule, condition: "dataPoint > 5" } as AlertRule],
      () => ({
        variables: ["dataPoint"],
        weight: 1_000_000,
        evaluate: (operands) => {
          evaluated++;
          return operands[0] === 9 ? 1 : 0;
        },
      }),
    );
    const state = fresh();
    run(state, 1, swinging(9900, 9), { by });
    assert.is(evaluated, 12);
    assert.is(state.active.has("rule:9"), true);
  });

  test("what is kept of a message's values has a bound", () => {
    const texts = Array.from({ length: 200 }, (_, i) => {
      const one = toPoint({ id: 1, time: 0, value: 0 });
      return { ...one, value: "x".repeat(1000), series: { ...one.series, field: `f${i}` } };
    });
    const kept = formatDetail(texts, 0);
    assert.is(Object.keys(JSON.parse(kept())).length, 8);
    // Made once, for all that it is written with.
    assert.is(kept(), kept());
  });

  test("a condition waits for every value that it names, and takes the newest of each", () => {
    const state = fresh();
    run(state, 1, [{ id: 1, time: 1, value: 5 }]);
    assert.equal(alertsOf([state], "rule:9"), []);
    run(state, 2, [{ id: 2, time: 1, value: 4 }]);
    run(state, 3, [{ id: 2, time: 0, value: 9 }]);
    run(state, 4, [
      { id: 1, time: 2, value: 1 },
      { id: 2, time: 2, value: 0 },
    ]);
    assert.equal(alertsOf([state], "rule:9"), [[2, false]]);
    run(state, 5, [{ id: 1, time: 3, value: 0 }]);
    assert.equal(alertsOf([state], "rule:9"), [[2, true]]);
  });

  test("the duration of a condition counts from when that condition became true, also after a restart", async () => {
    const over = (limit: number, id = 9, duration = 10) =>
      compileRules(
        [makePoint(1, "a")],
        [],
        [{ ...rule, id, duration, condition: `dataPoint > ${limit}` } as AlertRule],
        compile,
      );
    const send = (state: DeviceState, seconds: number, value: number, by: typeof plan) =>
      run(state, seconds, [{ id: 1, time: seconds * 1e6, value }], { by });
    const [ten, twenty] = [await over(10), await over(20)];
    const first = fresh();
    send(first, 1, 15, ten);
    send(first, 8, 15, ten);
    const kept = JSON.parse(JSON.stringify(toDeviceIngest(first)));
    for (const state of [first, newState({ id: 1, tenant: 1 }, kept, [])]) {
      // Ten seconds have gone by, of another condition.
      send(state, 12, 25, twenty);
      assert.equal(alertsOf([state], "rule:9"), []);
      send(state, 21, 25, twenty);
      assert.equal(alertsOf([state], "rule:9"), []);
      send(state, 22, 25, twenty);
      assert.equal(alertsOf([state], "rule:9"), [[1, false]]);
    }
    const same = newState({ id: 1, tenant: 1 }, kept, []);
    send(same, 11, 15, ten);
    assert.equal(alertsOf([same], "rule:9"), [[1, false]]);
  });

  test("what is watched no more is forgotten", async () => {
    const state = fresh();
    const both = [
      { id: 1, time: 1, value: 1 },
      { id: 2, time: 1, value: 0 },
    ] as const;
    const long = await compileRules(
      [makePoint(1, "a"), makePoint(2, "b")],
      [],
      [{ ...rule, duration: 60, condition: "dataPoint > b" } as AlertRule],
      compile,
    );
    run(state, 1, both, { by: long });
    assert.equal([state.values.size, state.since.size], [2, 1]);
    run(state, 2, both, { by: await compileRules([makePoint(1, "a", { upperLimit: 5 })], [], [], compile) });
    assert.equal([[...state.values.keys()], state.since.size], [[1], 0]);
    run(state, 3, both, { by: await compileRules([], [], [], compile) });
    assert.is(state.values.size, 0);
  });

  test("a fence that is taken away ends its alert with the next message, place or not, and no other's", async () => {
    const places = await compileRules(
      [
        makePoint(1, "a", { isLocationType: 1, locationType: 1 }),
        makePoint(2, "b", { isLocationType: 1, locationType: 2 }),
      ],
      [],
      [],
      compile,
    );
    const fence = (scopeName: string) => ({ scopeType: 2, scopeName, center: [0, 0], radius: 1000 });
    const [port, pond, twin] = [fence("port"), fence("pond"), fence("pond")];
    const state = fresh();
    const here = [
      { id: 1, time: 1, value: 0 },
      { id: 2, time: 1, value: 0 },
    ] as const;
    run(state, 1, here, { by: places, scopes: parseScopes([port, pond, twin]) });
    assert.is(state.active.size, 3);
    const later = { ...plan, points: new Map() };
    run(state, 2, [{ id: 1, time: 2, value: 0 }], { by: later, scopes: parseScopes([pond, twin]) });
    assert.equal(alertsOf([state], "scope:0:port"), [[1, true]]);
    assert.equal(alertsOf([state], "scope:0:pond"), [[1, false]]);
    run(state, 3, [{ id: 1, time: 3, value: 0 }], { by: later, scopes: parseScopes([]) });
    assert.is(state.active.size, 0);
  });

  test("values that a clock ahead has stamped hold up nothing once it is set back", () => {
    const state = fresh();
    const now = 1e15;
    const hour = 3600e6;
    run(state, 1, [{ id: 1, time: now, value: 1 }], { receivedAt: now });
    run(state, 2, [{ id: 1, time: now + 6 * hour, value: 9 }], { receivedAt: now + 6 * hour });
    assert.equal(alertsOf([state], "upper:1"), [[1, false]]);
    // Set back: what comes now is newer, though its time is older.
    run(state, 3, [{ id: 1, time: now + 1e6, value: 2 }], { receivedAt: now + 1e6 });
    assert.equal(alertsOf([state], "upper:1"), [[1, true]]);
    // Late points, by a clock that is right, still change nothing.
    run(state, 4, [{ id: 1, time: now, value: 9 }], { receivedAt: now + 2e6 });
    assert.equal(alertsOf([state], "upper:1"), [[1, true]]);
  });
});
