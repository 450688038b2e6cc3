/** Lines over time: what is drawn is the data, and the readout stands above it, never over it. */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { language, t } from "../i18n.js";
import { isDark } from "../theme.js";
import type { Decorations } from "./decorations.js";
import { followGestures, type Gestures } from "./gestures.js";
import { actOnKey } from "./keys.js";
import { lateMark } from "./late-words.js";
import { createChartData, type Line } from "./lines.js";
import { createChartOptions } from "./options.js";
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
  const { lines, zone, from, to, height, syncKey, spans = [] } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const drawn = useRef<readonly Line[]>([]);
  const time = useSignal<number | null>(null);
  const isKeyed = useSignal(false);
  const gestures = useRef<Gestures | null>(null);
  const marks = useMemo(
    () => [
      ...(props.marks ?? []),
      ...lines.flatMap(({ name, late = [] }) => late.map((point) => lateMark(name, point))),
    ],
    [props.marks, lines, language.value],
  );
  const newest = useRef({ ...props, marks });
  newest.current = { ...props, marks };
  const parts = lines.map(
    ({ name, color, axis, isDashed, isStepped, band }) =>
      `${name}/${color}/${axis}/${isDashed}/${isStepped}/${band !== undefined}`,
  );
  const shape = [zone, language.value, isDark.value, ...parts].join();

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const onRange = (first: number, last: number): void => newest.current.onRange(first * 1000, last * 1000);
    const made = new uPlot(
      createChartOptions(element, {
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
      createChartData(lines),
      element,
    );
    plot.current = made;
    drawn.current = lines;
    gestures.current = followGestures(made, onRange);
    const watch = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      gestures.current?.leave();
      gestures.current = null;
      made.destroy();
      plot.current = null;
    };
  }, [shape, height, syncKey]);

  useEffect(() => {
    const made = plot.current;
    if (made === null) return;
    made.batch(() => {
      // What a new plot was made with it has already.
      if (drawn.current !== lines) made.setData(createChartData(lines), false);
      drawn.current = lines;
      made.setScale("x", { min: from / 1000, max: to / 1000 });
    });
  }, [lines, from, to, shape, height, syncKey]);

  useEffect(() => plot.current?.redraw(false), [props.limits, marks, props.spans, props.unfinishedFrom]);

  return (
    <figure class="chart">
      <Readout
        lines={lines}
        marks={marks}
        spans={spans}
        zone={zone}
        time={time}
        msPerPixel={(to - from) / Math.max(1, plot.current?.over.clientWidth ?? 1)}
        isKeyed={isKeyed.value}
      />
      <div
        ref={place}
        class="plot"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys move its cursor
        tabIndex={0}
        role="application"
        aria-label={lines.map(({ name }) => name).join(", ")}
        aria-description={t("chart.keys")}
        onKeyDown={(event) => {
          if (!actOnKey(plot.current, gestures.current, event)) return;
          event.preventDefault();
          isKeyed.value = true;
        }}
        onPointerMove={() => {
          isKeyed.value = false;
        }}
      />
    </figure>
  );
}
