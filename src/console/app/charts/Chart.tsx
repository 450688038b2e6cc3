/** Lines over time: what is drawn is the data, and the readout stands above it, never over it. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { language } from "../i18n.js";
import { isDark } from "../theme.js";
import type { Decorations } from "./decorations.js";
import { followGestures } from "./gestures.js";
import { dataOf, type Line } from "./lines.js";
import { optionsOf } from "./options.js";
import { Readout } from "./Readout.js";

interface ChartProps extends Decorations {
  readonly lines: readonly Line[];
  readonly zone: string;
  /** Milliseconds since 1970: what the axis shows. */
  readonly from: number;
  readonly to: number;
  readonly height: number;
  /** Charts of one key show the same time under the cursor. */
  readonly syncKey?: string;
  /** A range was chosen on the chart. */
  onRange(from: number, to: number): void;
}

export function Chart(props: ChartProps) {
  const { lines, zone, from, to, height, syncKey, marks = [] } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const drawn = useRef<readonly Line[]>([]);
  const time = useSignal<number | null>(null);
  const newest = useRef(props);
  newest.current = props;
  const parts = lines.map(
    ({ name, color, axis, isDashed, band }) => `${name}/${color}/${axis}/${isDashed}/${band !== undefined}`,
  );
  const shape = [zone, language.value, isDark.value, ...parts].join();

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const onRange = (first: number, last: number): void => newest.current.onRange(first * 1000, last * 1000);
    const made = new uPlot(
      optionsOf(element, {
        lines,
        zone,
        height,
        ...(syncKey === undefined ? {} : { syncKey }),
        decorations: () => newest.current,
        onCursor: (index) => {
          const seconds = index === null ? undefined : plot.current?.data[0][index];
          time.value = seconds === undefined ? null : seconds * 1000;
        },
        onRange,
      }),
      dataOf(lines),
      element,
    );
    plot.current = made;
    drawn.current = lines;
    const leave = followGestures(made, onRange);
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      leave();
      made.destroy();
      plot.current = null;
    };
  }, [shape, height, syncKey]);

  useEffect(() => {
    const made = plot.current;
    if (made === null) return;
    made.batch(() => {
      // What a new plot was made with it has already.
      if (drawn.current !== lines) made.setData(dataOf(lines), false);
      drawn.current = lines;
      made.setScale("x", { min: from / 1000, max: to / 1000 });
    });
  }, [lines, from, to, shape, height, syncKey]);

  useEffect(() => plot.current?.redraw(false), [props.limits, props.marks, props.unfinishedFrom]);

  return (
    <figure class="chart">
      <Readout
        lines={lines}
        marks={marks}
        zone={zone}
        time={time}
        msPerPixel={(to - from) / Math.max(1, plot.current?.over.clientWidth ?? 1)}
      />
      <div
        ref={place}
        class="plot"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move its cursor
        tabIndex={0}
        role="application"
        aria-label={lines.map(({ name }) => name).join(", ")}
        onKeyDown={(event) => moveCursor(plot.current, event)}
      />
    </figure>
  );
}

function moveCursor(plot: uPlot | null, event: KeyboardEvent): void {
  const by = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
  if (plot === null || by === 0) return;
  event.preventDefault();
  const times = plot.data[0];
  const index = Math.min(times.length - 1, Math.max(0, (plot.cursor.idx ?? times.length - 1) + by));
  const time = times[index];
  if (time !== undefined) plot.setCursor({ left: plot.valToPos(time, "x"), top: 0 });
}
