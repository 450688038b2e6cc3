/** Lines over time: what is drawn is the data, and the readout stands above it, never over it. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { language } from "../i18n.js";
import { isDark } from "../theme.js";
import { numberText } from "./numbers.js";
import { ticksOf } from "./ticks.js";
import { offsetText, wallText } from "./zone.js";

export interface Line {
  readonly name: string;
  readonly unit: string | null;
  /** Of the eight series colours. */
  readonly color: number;
  /** Milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  /** Null: nothing was measured then. */
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  readonly lines: readonly Line[];
  readonly zone: string;
  /** Milliseconds since 1970: what the axis shows. */
  readonly from: number;
  readonly to: number;
  readonly height: number;
  /** A range was chosen on the chart. */
  onRange(from: number, to: number): void;
}

const tickPixels = 90;

export function Chart({ lines, zone, from, to, height, onRange }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const cursor = useSignal<number | null>(null);
  const chosen = useRef(onRange);
  chosen.current = onRange;
  const shape = `${zone} ${language.value} ${isDark.value} ${lines.map(({ name, color }) => `${name}/${color}`).join()}`;

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const made = new uPlot(
      optionsOf(element, lines, zone, height, {
        onCursor: (index) => {
          cursor.value = index;
        },
        onRange: (first, last) => chosen.current(first, last),
      }),
      dataOf(lines),
      element,
    );
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, height]);

  useEffect(() => {
    const made = plot.current;
    if (made === null) return;
    made.setData(dataOf(lines), false);
    made.setScale("x", { min: from / 1000, max: to / 1000 });
  }, [lines, from, to, shape]);

  function move(event: KeyboardEvent): void {
    const made = plot.current;
    const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (made === null || by === 0) return;
    event.preventDefault();
    const times = made.data[0];
    const index = Math.min(times.length - 1, Math.max(0, (made.cursor.idx ?? times.length - 1) + by));
    const time = times[index];
    if (time !== undefined) made.setCursor({ left: made.valToPos(time, "x"), top: 0 });
  }

  return (
    <figure class="chart">
      <Readout lines={lines} zone={zone} index={cursor.value} plot={plot.current} />
      <div
        ref={place}
        class="plot"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move its cursor
        tabIndex={0}
        role="application"
        aria-label={lines.map(({ name }) => name).join(", ")}
        onKeyDown={move}
      />
    </figure>
  );
}

/** The values under the cursor, or else the newest. */
function Readout({
  lines,
  zone,
  index,
  plot,
}: Pick<ChartProps, "lines" | "zone"> & { readonly index: number | null; readonly plot: uPlot | null }) {
  const time = index === null ? undefined : plot?.data[0][index];
  const values = lines.map((line, i) => {
    if (index !== null && plot !== null) return plot.data[i + 1]?.[index] ?? null;
    return line.values.findLast((value) => value !== null) ?? null;
  });
  const newest = Math.max(...lines.map(({ times }) => times.at(-1) ?? Number.NEGATIVE_INFINITY));
  const shown = time === undefined ? newest : time * 1000;
  return (
    <figcaption class="readout">
      <span class="mono">
        {Number.isFinite(shown) ? `${wallText(zone, shown)} ${offsetText(zone, shown)}` : "–"}
      </span>
      {lines.map((line, i) => (
        <span key={line.name} class={`reading series-${line.color}`}>
          <span class="swatch" aria-hidden="true" />
          {line.name} <strong>{numberText(values[i] ?? null)}</strong> {line.unit}
        </span>
      ))}
    </figcaption>
  );
}

/** Lines of other times are brought together: what one lacks at a time of another is no gap. */
function dataOf(lines: readonly Line[]): uPlot.AlignedData {
  const tables = lines.map(
    ({ times, values }): uPlot.AlignedData => [times.map((time) => time / 1000), [...values]],
  );
  return tables.length === 0 ? [[]] : uPlot.join(tables);
}

interface Listeners {
  onCursor(index: number | null): void;
  onRange(from: number, to: number): void;
}

function optionsOf(
  element: HTMLElement,
  lines: readonly Line[],
  zone: string,
  height: number,
  { onCursor, onRange }: Listeners,
): uPlot.Options {
  const styles = getComputedStyle(element);
  const color = (name: string): string => styles.getPropertyValue(name).trim();
  const axis = { stroke: color("--muted"), font: `12px ${styles.fontFamily}`, size: 44 };
  const grid = { stroke: color("--hair"), width: 1 };
  const splits = (made: uPlot, min: number, max: number) =>
    ticksOf(zone, min * 1000, max * 1000, Math.max(2, made.width / tickPixels), language.peek());
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 }, drag: { x: true, y: false, setScale: false } },
    select: { show: true, left: 0, top: 0, width: 0, height: 0 },
    scales: { x: { time: false }, y: { range: (_, min, max) => yRange(min, max) } },
    axes: [
      {
        ...axis,
        size: 30,
        grid,
        ticks: { show: false },
        splits: (made, _axis, min, max) => splits(made, min, max).times.map((time) => time / 1000),
        values: (made, _splits, _axis) => {
          const { min = 0, max = 0 } = made.scales.x ?? {};
          return [...splits(made, min ?? 0, max ?? 0).labels];
        },
      },
      {
        ...axis,
        size: 56,
        grid,
        ticks: { show: false },
        values: (_, all) => all.map((value) => numberText(value)),
      },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.name,
        stroke: color(`--series-${line.color}`),
        width: 1.5,
        points: { show: line.times.length < 2 },
      })),
    ],
    hooks: {
      setCursor: [(made) => onCursor(made.cursor.idx ?? null)],
      setSelect: [
        (made) => {
          const { left, width } = made.select;
          if (width < 4) return;
          onRange(made.posToVal(left, "x") * 1000, made.posToVal(left + width, "x") * 1000);
          made.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
}

/** Some room above and below, also of a line that does not move. */
function yRange(min: number | null, max: number | null): [number, number] {
  if (min === null || max === null) return [0, 1];
  const room = max > min ? (max - min) * 0.06 : Math.max(Math.abs(max) * 0.05, 0.5);
  return [min - room, max + room];
}
