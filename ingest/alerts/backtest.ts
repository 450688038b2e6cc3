/** When a rule would have raised its alert, by values that are stored. */
import type { AlertRule } from "../../store/metadata/alerts/alert-rules.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import type { DecodedPoint } from "../decode/points.js";
import { type CompileCondition, type CompiledRules, compileRules } from "./compiled-rules.js";
import { evaluate } from "./evaluate.js";
import { type DeviceState, newState } from "./rule-state.js";

/** An alert that the rule would have raised. Times in milliseconds. */
export interface RaisedSpan {
  readonly startTime: number;
  /** Null while it goes on. */
  readonly endTime: number | null;
  /** How many times of the values it lasted. */
  readonly alertTimes: number;
  /** The value of the rule's data point when it began. */
  readonly firstValue: number | null;
}

export interface Backtest {
  /** Record ids of the data points that the condition names. */
  readonly operands: readonly number[];
  /** The newest values before the range, oldest first: known, but no reason to look at the condition. */
  seed(point: number, values: readonly { readonly time: number; readonly value: number }[]): void;
  /**
   * Values of one time, microseconds, later than all before; value i is of data point `points[i]`, booleans are 1 and
   * 0. They count as one message.
   */
  take(time: number, points: readonly number[], values: readonly number[]): void;
  /** How many alerts have begun. */
  readonly count: number;
  spans(): RaisedSpan[];
}

type Rule = Pick<AlertRule, "dataPointIntID" | "condition" | "duration">;
type Effect = DeviceState["effects"][number];

interface Begun {
  readonly effect: Effect & { readonly kind: "raise" };
  readonly firstValue: number | null;
  endTime: number | null;
}

/** @param points all of the product */
export async function createBacktest(
  rule: Rule,
  points: readonly DataPoint[],
  compile: CompileCondition,
): Promise<Backtest> {
  const rules = onlyRules(await compileRules(points, [], [{ ...unsaved, ...rule }], compile));
  const state = newState({ id: 0, tenant: 0 }, undefined, []);
  const begun: Begun[] = [];
  const series = new Map([...rules.points.keys()].map((id) => [id, createSeriesRef(id)]));
  let messages = 0;

  function firstValue(): number | null {
    const value = state.values.get(rule.dataPointIntID)?.value ?? Number.NaN;
    return Number.isNaN(value) ? null : value;
  }

  /** `alertTimes` go on in the effect while its alert lasts. */
  function follow(effect: Effect): void {
    const last = begun.at(-1);
    if (effect.kind === "raise") begun.push({ effect, firstValue: firstValue(), endTime: null });
    else if (last !== undefined) last.endTime = effect.endTime;
  }

  return {
    operands: [...rules.points.keys()],
    seed: (point, values) => {
      const [before, last] = values.slice(-2);
      const known = last ?? before;
      if (known === undefined) return;
      const previous = last === undefined ? Number.NaN : (before?.value ?? Number.NaN);
      state.values = new Map(state.values).set(point, { ...known, previous });
    },
    take: (time, ids, values) => {
      const decoded: DecodedPoint[] = [];
      for (const [i, id] of ids.entries()) {
        const own = series.get(id);
        if (own !== undefined)
          decoded.push({ series: own, time, value: values[i] as number, serverStamped: false });
      }
      evaluate(rules, state, {
        id: ++messages,
        receivedAt: time,
        points: decoded,
        from: 0,
        detail: () => "{}",
        isDiscarded: false,
        scopes: [],
      });
      for (const effect of state.effects.splice(0)) follow(effect);
    },
    get count() {
      return begun.length;
    },
    spans: () =>
      begun.map(({ effect, firstValue, endTime }) => ({
        startTime: effect.trigger.startTime,
        endTime,
        alertTimes: effect.times,
        firstValue,
      })),
  };
}

const unsaved = {
  id: 0,
  tenant: 0,
  productIntID: 0,
  productID: "",
  alertName: "",
  alertContent: "",
  alertSeverity: 1,
  dataPointName: "",
  createUser: null,
  createAt: 0,
  updateAt: null,
} as const;

/** Without what the product's limits, faults and places would bring about besides. */
function onlyRules(compiled: CompiledRules): CompiledRules {
  const own = [...compiled.points.values()].filter(({ rules }) => rules.length > 0);
  const nothingElse = { fault: null, upper: null, lower: null, location: null, columns: [] };
  return { ...compiled, points: new Map(own.map((point) => [point.id, { ...point, ...nothingElse }])) };
}

function createSeriesRef(dataPointIntID: number): DecodedPoint["series"] {
  const owner = { tenant: 0, productID: "", deviceID: "", field: "" };
  return { ...owner, kind: "number", dataPointIntID, isLocation: false };
}
