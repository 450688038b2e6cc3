import { addDecimals, nearest, toDecimal } from "../../store/lib/decimal.js";
import { ByteString } from "./cbor.js";
import { exactSum, isNumber } from "./exact-numbers.js";
import type { Reason, Refuse } from "./reasons.js";
import { isAlike, isSenmlUnit } from "./senml-units.js";
import type { Sink } from "./sink.js";
import { bareTimeLeast } from "./time.js";

/**
 * SenML packs (RFC 8428), as JSON and as CBOR. A record names a data point by its `n`, by its whole name with the
 * base name, or by what follows the last `/` or `:` of it, whichever the product has first.
 */

/** A record whose labels are the JSON ones. */
interface Entry {
  readonly [label: string]: unknown;
}

/** What a pack carries from record to record. */
interface Base {
  name: string;
  time: number;
  unit: unknown;
  value: number | bigint;
  sum: number | bigint | null;
  /** The unit that the first record of each data point with a known one had; null before the first. */
  units: Map<string, string> | null;
}

export interface SenmlContext {
  /** Whether the product, or the topic's stream, has a data point of that name. */
  knows(key: string): boolean;
  /** The units of SenML that the data point may be in; null if nothing is known of its unit. */
  unitsOf(key: string): ReadonlySet<string> | null;
  /** Microseconds; what relative times count from. */
  readonly receivedAt: number;
}

const versionMax = 10;
/** Times below it, in seconds, count from now (RFC 8428 §4.5.3). */
const relativeBelow = 2 ** 28;
/** Beyond the times of the series store, in microseconds 2^53. */
const secondsMax = 1e11;
/** In the order in which a record's value is looked for. */
const valueLabels = ["v", "vs", "vb", "vd", "s"] as const;
type ValueLabel = (typeof valueLabels)[number];

/** Whether a JSON array is a pack: its first record has a base name, or a name and a value. */
export function isPack(entries: readonly unknown[], knows: SenmlContext["knows"]): boolean {
  const [first] = entries;
  if (typeof first !== "object" || first === null || Array.isArray(first)) return false;
  const { bn, n } = first as Entry;
  if (typeof bn === "string") return !knows("bn");
  const hasValue = () => valueLabels.some((label) => Object.hasOwn(first, label));
  return typeof n === "string" && hasValue() && !knows("n");
}

/** The same of an array of CBOR, whose maps may have the labels as numbers. */
export function isCborPack(items: readonly unknown[], knows: SenmlContext["knows"]): boolean {
  const [first] = items;
  if (!(first instanceof Map)) return false;
  for (const label of first.keys()) if (labels.has(label)) return true;
  return isPack([toEntry(first)], knows);
}

/** Reads the records of a pack in their order. A malformed record is refused alone. */
export function readPack(
  records: readonly unknown[],
  context: SenmlContext,
  take: Sink,
  refuse: Refuse,
): void {
  const base: Base = { name: "", time: 0, unit: undefined, value: 0, sum: null, units: null };
  for (let at = 0; at < records.length; at++) {
    const entry = toEntry(records[at]);
    if (entry !== null && !isUnderstood(entry)) {
      refuse("shape", records.length - at);
      return;
    }
    const reason = entry === null ? "shape" : readEntry(entry, base, context, take, refuse);
    if (reason !== null) refuse(reason, 1);
  }
}

/** CBOR's labels (RFC 8428 §6, table 4). */
const labels: ReadonlyMap<unknown, string> = new Map([
  [-1, "bver"],
  [-2, "bn"],
  [-3, "bt"],
  [-4, "bu"],
  [-5, "bv"],
  [-6, "bs"],
  [0, "n"],
  [1, "u"],
  [2, "v"],
  [3, "vs"],
  [4, "vb"],
  [5, "s"],
  [6, "t"],
  [7, "ut"],
  [8, "vd"],
]);

function toEntry(record: unknown): Entry | null {
  if (typeof record !== "object" || record === null || Array.isArray(record)) return null;
  if (record instanceof ByteString) return null;
  if (!(record instanceof Map)) return record as Entry;
  const named = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of record) {
    const label = typeof key === "string" ? key : labels.get(key);
    if (label === undefined || label in named) return null;
    named[label] = value;
  }
  return named;
}

const underscore = 0x5f;

/** A pack of a newer version, or with an extension that must be understood, is not read further. */
function isUnderstood(entry: Entry): boolean {
  const { bver } = entry;
  if (bver !== undefined && !(typeof bver === "number" && bver <= versionMax)) return false;
  for (const label in entry) if (label.charCodeAt(label.length - 1) === underscore) return false;
  return true;
}

function readEntry(
  entry: Entry,
  base: Base,
  context: SenmlContext,
  take: Sink,
  refuse: Refuse,
): Reason | null {
  if (!rebase(entry, base)) return "shape";
  const { n = "", t = 0, u: unit = base.unit, v, vs, vb, vd, s } = entry;
  if (typeof n !== "string") return "shape";
  const label = findValueLabel(v, vs, vb, vd, s);
  // A record may hold base values only.
  if (label === undefined)
    return n === "" && entry.u === undefined ? refuseUnlabelled(entry, refuse) : "shape";
  const key = resolveKey(base.name, n, context.knows);
  if (key === "") return "shape";
  const given = +(v !== undefined) + +(vs !== undefined) + +(vb !== undefined) + +(vd !== undefined);
  if (given + +(s !== undefined) > 1) refuseBeside(label, key, entry, refuse);
  const value = recordValue(label, entry[label], base);
  // The unit of a sum is another one: that of the values, times a second.
  if (label !== "s" && typeof unit === "string" && contradicts(unit, key, base, context))
    refuse("unit", 1, key, `${value} ${unit}`);
  else take(key, value, isNumber(t) ? resolveTime(base.time, Number(t), context.receivedAt) : null);
  return null;
}

/** Beside a value, labels that are not known are extensions (RFC 8428 §4.4); without one, they are perhaps values. */
function refuseUnlabelled(entry: Entry, refuse: Refuse): null {
  for (const label in entry) if (!knownLabels.has(label)) refuse("unknown", 1, label, entry[label]);
  return null;
}

const knownLabels: ReadonlySet<string> = new Set(labels.values());

function findValueLabel(
  v: unknown,
  vs: unknown,
  vb: unknown,
  vd: unknown,
  s: unknown,
): ValueLabel | undefined {
  if (v !== undefined) return "v";
  if (vs !== undefined) return "vs";
  if (vb !== undefined) return "vb";
  if (vd !== undefined) return "vd";
  return s === undefined ? undefined : "s";
}

/** A record has one value: what stands under a later label is none. */
function refuseBeside(label: ValueLabel, key: string, entry: Entry, refuse: Refuse): void {
  for (const other of valueLabels) {
    if (other !== label && entry[other] !== undefined) refuse("unknown", 1, `${key}.${other}`, entry[other]);
  }
}

/** Whether a known unit is another one than the data point's, or than that of an earlier record of its name. */
function contradicts(unit: string, key: string, base: Base, { knows, unitsOf }: SenmlContext): boolean {
  if (!isSenmlUnit(unit) || !knows(key)) return false;
  if (unitsOf(key)?.has(unit) === false) return true;
  base.units ??= new Map();
  const before = base.units.get(key);
  if (before === undefined) base.units.set(key, unit);
  return before !== undefined && !isAlike(before, unit);
}

/** Takes over the base values; false when one is of a wrong type. */
function rebase(entry: Entry, base: Base): boolean {
  const { bn = base.name, bt = base.time, bu = base.unit, bv = base.value, bs = base.sum } = entry;
  if (typeof bn !== "string" || !isNumber(bt) || !isNumber(bv)) return false;
  if (!isNumber(bs) && bs !== null) return false;
  base.name = bn;
  base.time = Number(bt);
  base.unit = bu;
  base.value = bv;
  base.sum = bs;
  return true;
}

/** Null for a value of another type than its label says. */
function recordValue(label: ValueLabel, value: unknown, base: Base): unknown {
  switch (label) {
    case "v":
      return isNumber(value) ? exactSum(value, base.value) : null;
    case "vs":
      return typeof value === "string" ? value : null;
    case "vb":
      return typeof value === "boolean" ? value : null;
    case "vd":
      return parseData(value);
    case "s":
      return isNumber(value) ? exactSum(value, base.sum ?? 0) : null;
  }
}

/** base64url without padding in JSON, bytes in CBOR. */
function parseData(data: unknown): Buffer | null {
  if (data instanceof ByteString) return data.bytes;
  return typeof data === "string" && /^[A-Za-z0-9_-]*$/.test(data) ? Buffer.from(data, "base64url") : null;
}

function resolveKey(base: string, name: string, knows: SenmlContext["knows"]): string {
  if (name !== "" && knows(name)) return name;
  const whole = base + name;
  if (knows(whole)) return whole;
  const last = whole.slice(Math.max(whole.lastIndexOf("/"), whole.lastIndexOf(":")) + 1);
  return knows(last) ? last : whole;
}

/** Microseconds; no time at all means now, which the server stamps. The sum is that of the decimals. */
function resolveTime(base: number, offset: number, receivedAt: number): number | null | undefined {
  const seconds = base + offset;
  if (seconds === 0) return undefined;
  if (!(Math.abs(seconds) < secondsMax && Math.abs(base) < secondsMax)) return null;
  const whole = Number.isInteger(base) && Number.isInteger(offset);
  const sent = whole ? seconds * 1e6 : nearest(addDecimals(toDecimal(base), toDecimal(offset)), 6);
  if (sent === null) return null;
  if (seconds >= relativeBelow) return sent >= bareTimeLeast ? sent : null;
  const micros = sent + receivedAt;
  return Math.abs(micros) < 2 ** 53 ? micros : null;
}
