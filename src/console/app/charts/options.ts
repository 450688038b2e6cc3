/** Options of uPlot: our own time axis, and one or two value axes. */
import uPlot from "uplot";
import { language } from "../i18n.js";
import { type Decorations, drawOver, drawUnder } from "./decorations.js";
import { lineWidth } from "./gestures.js";
import { alignLines, type Line } from "./lines.js";
import { numberText } from "./numbers.js";
import { createTicks } from "./ticks.js";

interface Drawn {
  readonly lines: readonly Line[];
  readonly zone: string;
  readonly height: number;
  /** Charts of one key show the same time under the cursor. */
  readonly syncKey?: string;
  /** Looked at whenever it is drawn. */
  decorations(): Decorations;
  onCursor(index: number | null): void;
  /** Seconds since 1970. */
  onRange(from: number, to: number): void;
}

const tickPixels = 90;
const dash = [5, 4];
const stepped: uPlot.Series.PathBuilder = (...args) => uPlot.paths.stepped?.({ align: 1 })(...args) ?? null;

export function createChartOptions(element: HTMLElement, drawn: Drawn): uPlot.Options {
  const { lines, zone, height, syncKey, decorations, onCursor, onRange } = drawn;
  const styles = getComputedStyle(element);
  const color = (name: string): string => styles.getPropertyValue(name).trim();
  const grid = { stroke: color("--hair"), width: 1 };
  const axis = { stroke: color("--muted"), font: `12px ${styles.fontFamily}`, ticks: { show: false } };
  const values = (_: uPlot, all: readonly number[]) => all.map((value) => numberText(value));
  const splits = memoizeLast((min: number, max: number, width: number) =>
    createTicks(zone, min * 1000, max * 1000, Math.max(2, width / tickPixels), language.peek()),
  );
  const columns = alignLines(lines);
  const hasRight = lines.some((line) => line.axis === "right");
  const range: uPlot.Scale.Range = (_, min, max, scale) =>
    yRange(
      min,
      max,
      (decorations().limits ?? []).flatMap(({ value, text, axis }) =>
        text !== undefined && (axis === "right") === (scale === "right") ? [value] : [],
      ),
    );
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: true, y: false, setScale: false },
      ...(syncKey === undefined ? {} : { sync: { key: syncKey } }),
    },
    select: { show: true, left: 0, top: 0, width: 0, height: 0 },
    scales: { x: { time: false }, y: { range }, ...(hasRight ? { right: { range } } : {}) },
    axes: [
      {
        ...axis,
        size: 30,
        grid,
        splits: (plot, _, min, max) => splits(min, max, plot.width).times.map((time) => time / 1000),
        values: (plot) => {
          const { min, max } = plot.scales.x ?? {};
          return [...splits(min ?? 0, max ?? 0, plot.width).labels];
        },
      },
      { ...axis, size: 56, grid, values },
      ...(hasRight
        ? [{ ...axis, scale: "right", side: 1 as const, size: 56, grid: { show: false }, values }]
        : []),
    ],
    series: [
      {},
      ...columns.map(({ line, part }): uPlot.Series => {
        const { name, color: series, times, axis: side, isDashed, isStepped } = lines[line] as Line;
        return {
          label: name,
          scale: side === "right" ? "right" : "y",
          ...(part === "value"
            ? {
                stroke: color(`--series-${series}`),
                width: lineWidth.still,
                points: { show: times.length < 2 },
                ...(isDashed === true ? { dash } : {}),
                ...(isStepped === true ? { paths: stepped } : {}),
              }
            : { width: 0, points: { show: false } }),
        };
      }),
    ],
    bands: columns.flatMap(({ line, part }, i) =>
      part === "high"
        ? [
            {
              series: [i + 1, i + 2] as [number, number],
              fill: `color-mix(in oklch, ${color(`--series-${lines[line]?.color ?? 0}`)} 22%, transparent)`,
            },
          ]
        : [],
    ),
    hooks: {
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
      drawAxes: [(plot) => drawUnder(plot, decorations(), zone, color)],
      draw: [(plot) => drawOver(plot, decorations(), color)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < 4) return;
          onRange(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
}

/** uPlot asks for places and labels of the same ticks one after the other; wall clocks are slow to compute. */
function memoizeLast<Result>(compute: (min: number, max: number, width: number) => Result) {
  let known: { readonly key: string; readonly result: Result } | undefined;
  return (min: number, max: number, width: number): Result => {
    const key = `${min} ${max} ${width}`;
    if (known?.key !== key) known = { key, result: compute(min, max, width) };
    return known.result;
  };
}

/**
 * Leaves some space above and below the line, also if it is flat. Includes the given limits if the line keeps at least
 * half of the height.
 */
function yRange(lowest: number | null, highest: number | null, limits: readonly number[]): [number, number] {
  if (lowest === null || highest === null) return [0, 1];
  const reach = highest > lowest ? highest - lowest : Math.max(Math.abs(highest) * 0.05, 0.5);
  const near = limits.filter((value) => value >= lowest - reach && value <= highest + reach);
  const [min, max] = [Math.min(lowest, ...near), Math.max(highest, ...near)];
  const margin = max > min ? (max - min) * 0.06 : Math.max(Math.abs(max) * 0.05, 0.5);
  return [min - margin, max + margin];
}
