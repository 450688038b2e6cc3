/** How late a point came, in words and as a mark on the axis. */
import { t } from "../i18n.js";
import type { Mark } from "./decorations.js";
import type { LatePoint } from "./late-points.js";

const lengths = [
  ["length.d", 86_400_000],
  ["length.h", 3_600_000],
  ["length.min", 60_000],
] as const;

/** In the largest unit that it has one of: `3 h`. */
function lengthText(ms: number): string {
  for (const [key, unit] of lengths) if (ms >= unit) return t(key, { count: Math.floor(ms / unit) });
  return t("length.s", { count: Math.max(1, Math.round(ms / 1000)) });
}

export const lateText = (byMs: number): string => t("late.by", { length: lengthText(byMs) });

/** @param name of the line */
export const lateMark = (name: string, { time, byMs }: LatePoint): Mark => ({
  time,
  tone: "late",
  text: `${name}: ${lateText(byMs)}`,
});
