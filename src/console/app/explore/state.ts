/** What the address of Explore says: which series, over which range, seen how. */
import { isZone } from "../charts/zone.js";

export const units = ["real", "minute", "hour", "day", "week", "month", "year"] as const;
export type Unit = (typeof units)[number];

/** The aggregates of the API by their codes. */
export const aggregates = [3, 1, 2, 4, 5, 6, 7, 8] as const;
export const mean = 3;

export const comparisons = ["-1d", "-1w", "-1M", "-1y"] as const;
type Comparison = (typeof comparisons)[number];

export interface ExploreState {
  /** deviceIDs. */
  readonly devices: readonly string[];
  /** dataPointIDs; null: the first of each product. */
  readonly points: readonly string[] | null;
  /** Record ids of metrics. */
  readonly metrics: readonly number[];
  readonly unit: Unit;
  readonly aggregate: number;
  readonly zone: string;
  readonly from: string;
  readonly to: string;
  readonly compare: Comparison | null;
  readonly isTable: boolean;
  readonly isLive: boolean;
}

export const devicesMax = 10;
export const seriesMax = 40;

const parseList = (text: string): string[] => [...new Set(text.split(",").filter((one) => one !== ""))];

export function parseExploreState(
  query: Readonly<Record<string, string>>,
  defaultZone: string,
): ExploreState {
  const { d = "", p, m = "", u, a, tz = "", from = "-24h", to = "now", c, view, live } = query;
  return {
    devices: parseList(d).slice(0, devicesMax),
    points: p === undefined ? null : parseList(p),
    metrics: parseList(m).map(Number).filter(Number.isSafeInteger),
    unit: units.find((one) => one === u) ?? "real",
    aggregate: aggregates.find((one) => String(one) === a) ?? mean,
    zone: isZone(tz) ? tz : defaultZone,
    from,
    to,
    compare: comparisons.find((one) => one === c) ?? null,
    isTable: view === "table",
    isLive: live === "1",
  };
}

/** A list as the address has it; `-` is one without members, which is another thing than none given. */
export const listText = (names: readonly (string | number)[]): string =>
  names.length === 0 ? "-" : names.join();
