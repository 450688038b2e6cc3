import { compileRules } from "../../ingest/alerts/compiled-rules.js";
import { evaluate, formatDetail } from "../../ingest/alerts/evaluate.js";
import { newState } from "../../ingest/alerts/rule-state.js";
import type { DecodedPoint } from "../../ingest/decode/points.js";
import { emptyMap } from "../../ingest/messages/shared-empty.js";
import { compileFormula, storedFormulaOptions } from "../../query/formula/formula.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import type { BenchOptions } from "../options.js";
import type { Figure } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";
import { openLoadedTidemark } from "../subjects/contenders.js";

const shape = { name: "50x50", connections: 50, inflight: 50 };
const rulesCount = 10;

const conditions = { "never hold": "dataPoint > 1e6 + ", "always hold": "dataPoint > -1e6 - " } as const;

/**
 * What alert rules cost on the way up: the same load on a product without any and on one with ten; and the evaluation
 * alone, in this process, beside the CPU that a message takes without rules.
 */
export async function benchAlerts(options: BenchOptions): Promise<Figure[]> {
  const plain = "stored, no rules";
  const rules = Object.entries(conditions);
  const loaded = await compareAll(
    [
      () => contender(options, plain, null),
      ...rules.map(
        ([what, condition]) =>
          () =>
            contender(options, `stored, ${rulesCount} rules that ${what}`, plain, condition),
      ),
    ],
    options.rounds,
  );
  const cpu = `a message, no rules`;
  const evaluations: Figure[] = [];
  for (const [what, condition] of rules) {
    const name = `evaluation, ${rulesCount} rules that ${what}`;
    const value = await evaluation(condition, options.seconds);
    evaluations.push({ name, value, unit: "µs of CPU", baseline: cpu });
  }
  return [
    ...loaded,
    { name: cpu, value: Number(loaded[0]?.detail?.["cpu µs/msg"]), unit: "µs of CPU" },
    ...evaluations,
  ];
}

const fields = ["temp", "hum", "volt"] as const;
const devices = 50;
const messagesPerWrite = 5000;

/** Microseconds that evaluating a message of three points takes; alerts are taken out as a write takes them. */
async function evaluation(condition: string, seconds: number): Promise<number> {
  const points = fields.map((dataPointID, i) => ({
    id: i + 1,
    dataPointID,
    dataPointName: dataPointID,
    pointDataType: 1,
    isLocationType: 0,
    faultValue: null,
    upperLimit: null,
    lowerLimit: null,
    locationType: null,
  })) as Partial<DataPoint>[] as DataPoint[];
  const rules = Array.from({ length: rulesCount }, (_, i) => ({
    id: i + 1,
    dataPointIntID: 1 + (i % fields.length),
    condition: `${condition}${i}`,
    duration: 0,
    alertName: "rule",
    alertContent: "rule",
    alertSeverity: 2,
  })) as Partial<Parameters<typeof compileRules>[2][number]>[] as Parameters<typeof compileRules>[2];
  const compiled = await compileRules(points, [], rules, (text) => {
    const formula = compileFormula(text, new Set(), storedFormulaOptions);
    return { variables: formula.variables, weight: formula.weight, evaluate: formula.row() };
  });
  const states = Array.from({ length: devices }, (_, i) => newState({ id: i + 1, tenant: 1 }, undefined, []));
  const series = points.map(({ id, dataPointID: field }) => ({
    tenant: 1,
    productID: "p",
    deviceID: "d",
    field,
    kind: "number" as const,
    dataPointIntID: id,
    isLocation: false,
  }));
  let id = 0;
  const run = (): void => {
    for (const state of states) {
      state.effects = [];
      state.raising = emptyMap;
    }
    for (let i = 0; i < messagesPerWrite; i++) {
      id++;
      const own = series.map(
        (one, k): DecodedPoint => ({
          series: one,
          time: id * 1000,
          value: (id % 100) + k,
          serverStamped: true,
        }),
      );
      const message = { id, receivedAt: id * 1000, points: own, from: 0, detail: formatDetail(own, 0) };
      const state = states[id % devices] as (typeof states)[number];
      evaluate(compiled, state, { ...message, isDiscarded: false, scopes: [] });
    }
  };
  for (let i = 0; i < 20; i++) run();
  const [first, cpuBefore, endAt] = [id, process.cpuUsage(), performance.now() + seconds * 1000];
  while (performance.now() < endAt) run();
  const { user, system } = process.cpuUsage(cpuBefore);
  return (user + system) / (id - first);
}

async function contender(
  { dir, seconds }: BenchOptions,
  name: string,
  baseline: string | null,
  condition?: string,
): Promise<Contender> {
  const tidemark = await openLoadedTidemark({ dir }, shape);
  const { fleet, service } = tidemark;
  for (let i = 0; condition !== undefined && i < rulesCount; i++) {
    await service.api().post("/api/v1/alert_rules", {
      alertName: `rule ${i}`,
      dataPointIntID: fleet.dataPointIntIDs[i % fleet.dataPointIntIDs.length],
      condition: `${condition}${i}`,
    });
  }
  return {
    run: async () => {
      const { load, cpu, storedRate } = await tidemark.measure({ seconds });
      const detail = {
        "cpu µs/msg": (cpu * 1e6) / Math.max(1, load.acked),
        "acked/s": load.rate,
        "p99 ms": load.p99,
      };
      return [
        { name, value: storedRate, unit: "messages/s", ...(baseline === null ? {} : { baseline }), detail },
      ];
    },
    close: tidemark.close,
  };
}
