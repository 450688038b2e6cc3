import { crc32c } from "../../store/lib/crc32c.js";
import { asError } from "../../store/lib/errors.js";
import { createRecordCache } from "../../store/lib/record-cache.js";
import { forEachInSlices } from "../../store/lib/scheduling.js";
import { recordName } from "../../store/lib/versions.js";
import { type AlertRule, listProductAlertRules } from "../../store/metadata/alerts/alert-rules.js";
import type { Change } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import { fromJson } from "../../store/metadata/db/table.js";
import type { ReportedColumn } from "../../store/metadata/devices/ingest.js";
import {
  type DataPoint,
  listProductDataPoints,
  toSeriesKind,
} from "../../store/metadata/products/data-points.js";
import { findResources } from "../../store/metadata/products/product-resources.js";

/** What the values of a product's data points mean for alerts, locations and the device's own record. */
export interface CompiledRules {
  /** By record id of the data point; those that mean nothing here are left out. */
  readonly points: ReadonlyMap<number, PointRules>;
  /** The causes of faults, limits and rules that are watched. */
  readonly causes: ReadonlySet<string>;
  /** What its costliest point costs, in the unit of a formula's weight; without the fences of the device. */
  readonly weight: number;
  /** Whether a point may move the device. */
  readonly moves: boolean;
}

export interface PointRules {
  readonly id: number;
  readonly name: string;
  readonly causes: Readonly<Record<"fault" | "upper" | "lower", string>>;
  /** The text that says there is a fault. */
  readonly fault: string | null;
  readonly upper: number | null;
  readonly lower: number | null;
  readonly location: "longitude" | "latitude" | "both" | null;
  /** Columns of the device that take its value. */
  readonly columns: readonly ReportedColumn[];
  /** Rules whose condition names it. */
  readonly rules: readonly CompiledRule[];
}

export interface CompiledRule {
  readonly id: number;
  readonly cause: string;
  readonly rule: Pick<AlertRule, "alertName" | "alertContent" | "alertSeverity">;
  readonly durationMicros: number;
  /** The condition's version: a changed condition begins its duration anew. */
  readonly version: number;
  /** Where each operand comes from: a data point, its value or the one before; null: a data point that is gone. */
  readonly operands: readonly { readonly point: number | null; readonly isPrevious: boolean }[];
  readonly evaluate: Condition["evaluate"];
  readonly weight: number;
  /** The last instant that touched it, so that each instant evaluates it once. */
  touchedAt: number;
}

/** A formula that is true (not 0), false (0) or null (NaN). */
interface Condition {
  /** `dataPoint`, `lastValue` or a dataPointID. */
  readonly variables: readonly string[];
  /** What it costs, in the unit of a formula's weight. */
  readonly weight: number;
  /** The operands in the order of `variables`; NaN for null. */
  evaluate(operands: Float64Array): number;
}

/**
 * Compiles a saved condition, and remembers it for a while. `dataPointIDs` are those of its product. @throws StoreError INVALID for one that this version does
 * not take
 */
export type CompileCondition = (text: string, dataPointIDs: Pick<ReadonlySet<string>, "has">) => Condition;

export interface CompiledRulesCache {
  /** From memory only. */
  peek(productIntID: number): CompiledRules | undefined;
  /** As they are now; not kept in memory while the product is being edited. */
  get(productIntID: number): Promise<CompiledRules>;
  forget(change: Change): void;
}

/** A stored rule does not compile, so that it has no effect; `reason` is that of the compiler. */
export type OnUncompiled = (rule: Pick<AlertRule, "id" | "alertName">, reason: string) => void;

const productsMax = 10_000;
/** What a product's rules are compiled from, besides the product. */
const members: ReadonlySet<string> = new Set(["data_point", "product_resource", "alert_rule"]);

/** Kept until the metadata that they come from changes. */
export function createCompiledRulesCache(
  db: Db,
  compile: CompileCondition,
  onUncompiled: OnUncompiled,
): CompiledRulesCache {
  const cache = createRecordCache<
    number,
    { readonly compiled: CompiledRules; readonly records: readonly string[] }
  >(productsMax, ({ records }) => records);

  async function read(productIntID: number) {
    const points = await listProductDataPoints(db, productIntID);
    const resources = await findResources(db, productIntID);
    const rules = await listProductAlertRules(db, productIntID);
    const records = [
      recordName("product", productIntID),
      ...points.map(({ id }) => recordName("data_point", id)),
      ...resources.map(({ id }) => recordName("product_resource", id)),
      ...rules.map(({ id }) => recordName("alert_rule", id)),
    ];
    return { compiled: await compileRules(points, resources, rules, compile, onUncompiled), records };
  }

  return {
    peek: (productIntID) => cache.peek(productIntID)?.compiled,
    get: async (productIntID) => (await cache.get(productIntID, () => read(productIntID))).compiled,
    forget: ({ entity, recordID, detail }) => {
      if (entity === "product" || members.has(entity)) cache.touch(recordName(entity, recordID));
      // A new member is in no compiled rules yet; the change that creates it names its product.
      const product = members.has(entity) ? fromJson<{ productIntID?: number }>(detail)?.productIntID : null;
      if (typeof product === "number") cache.touch(recordName("product", product));
    },
  };
}

const faultType = 4;
const locationType = 6;
/** Bits and times have no limits. */
const unlimited: ReadonlySet<number> = new Set([19, 24]);
const coordinates: Readonly<Record<number, "longitude" | "latitude">> = { 1: "longitude", 2: "latitude" };

/**
 * In slices: a condition takes milliseconds to compile, and a product may have thousands of data points. Rules that do
 * not compile are left out. @throws without `onUncompiled`, the compiler's error
 */
export async function compileRules(
  points: readonly DataPoint[],
  resources: readonly { readonly codeValue: string; readonly dataPointIntID: number }[],
  rules: readonly AlertRule[],
  compile: CompileCondition,
  onUncompiled?: OnUncompiled,
): Promise<CompiledRules> {
  const ids = new Map<string, number>();
  await forEachInSlices(points, ({ dataPointID, id }) => ids.set(dataPointID, id));
  const causes = new Set<string>();
  const rulesByPoint = new Map<number, CompiledRule[]>();
  await forEachInSlices(rules, (rule) => {
    const compiled = compileRule(rule, ids, compile, onUncompiled);
    if (compiled === null) return;
    causes.add(compiled.cause);
    for (const id of new Set(compiled.operands.map(({ point }) => point)))
      if (id !== null) add(rulesByPoint, id, compiled);
  });
  const columnsByPoint = new Map<number, ReportedColumn[]>();
  await forEachInSlices(resources, ({ codeValue, dataPointIntID }) =>
    add(columnsByPoint, dataPointIntID, codeValue as ReportedColumn),
  );

  const used = new Map<number, PointRules>();
  let weight = 0;
  let moves = false;
  await forEachInSlices(points, (point) => {
    const isLimited = toSeriesKind(point.pointDataType) === "number" && !unlimited.has(point.pointDataType);
    const compiled: PointRules = {
      id: point.id,
      name: point.dataPointName,
      causes: { fault: `fault:${point.id}`, upper: `upper:${point.id}`, lower: `lower:${point.id}` },
      fault: point.pointDataType === faultType ? point.faultValue : null,
      upper: isLimited ? point.upperLimit : null,
      lower: isLimited ? point.lowerLimit : null,
      location: locationPart(point),
      columns: columnsByPoint.get(point.id) ?? [],
      rules: rulesByPoint.get(point.id) ?? [],
    };
    if (!isOfUse(compiled)) return;
    used.set(point.id, compiled);
    for (const cause of listCauses(compiled)) causes.add(cause);
    weight = Math.max(weight, sumWeights(compiled));
    moves ||= compiled.location !== null;
  });
  return { points: used, causes, weight, moves };
}

function add<Value>(all: Map<number, Value[]>, id: number, value: Value): void {
  const known = all.get(id);
  if (known === undefined) all.set(id, [value]);
  else known.push(value);
}

/** Looking at a value without rules costs as much as a few parts of a formula. */
const pointWeight = 5;

function sumWeights({ rules }: PointRules): number {
  return rules.reduce((sum, rule) => sum + rule.weight, pointWeight);
}

function listCauses({ fault, upper, lower, causes }: PointRules): string[] {
  return Object.entries({ fault, upper, lower }).flatMap(([of, value]) =>
    value === null ? [] : causes[of as keyof PointRules["causes"]],
  );
}

function locationPart(point: DataPoint): PointRules["location"] {
  if (point.pointDataType === locationType) return "both";
  if (point.isLocationType !== 1 || toSeriesKind(point.pointDataType) !== "number") return null;
  return coordinates[point.locationType ?? 0] ?? null;
}

function isOfUse({ fault, upper, lower, location, columns, rules }: PointRules): boolean {
  return [fault, upper, lower, location].some((one) => one !== null) || columns.length + rules.length > 0;
}

export const ruleCause = (id: number): string => `rule:${id}`;

/** Null: the condition does not compile. */
function compileRule(
  rule: AlertRule,
  ids: ReadonlyMap<string, number>,
  compile: CompileCondition,
  onUncompiled: OnUncompiled | undefined,
): CompiledRule | null {
  try {
    const { variables, weight, evaluate } = compile(rule.condition, ids);
    return {
      id: rule.id,
      cause: ruleCause(rule.id),
      rule,
      durationMicros: rule.duration * 1e6,
      version: crc32c(Buffer.from(`${rule.dataPointIntID} ${rule.condition}`)),
      operands: variables.map((name) =>
        name === "dataPoint" || name === "lastValue"
          ? { point: rule.dataPointIntID, isPrevious: name === "lastValue" }
          : { point: ids.get(name) ?? null, isPrevious: false },
      ),
      evaluate,
      weight,
      touchedAt: 0,
    };
  } catch (error) {
    if (onUncompiled === undefined) throw error;
    onUncompiled(rule, asError(error).message);
    return null;
  }
}
