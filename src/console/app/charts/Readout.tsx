import type { ReadonlySignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { t } from "../i18n.js";
import { Status } from "../shell/Status.js";
import { useCut } from "../shell/use-cut.js";
import { type Mark, marksNear, type Span, spansAt } from "./decorations.js";
import { type Line, valueAt } from "./lines.js";
import { numberText } from "./numbers.js";
import { offsetText, wallText } from "./zone.js";

interface ReadoutProps {
  readonly lines: readonly Line[];
  readonly marks: readonly Mark[];
  readonly spans: readonly Span[];
  readonly zone: string;
  /** Under the cursor; null: the newest values are shown. */
  readonly time: ReadonlySignal<number | null>;
  readonly msPerPixel: number;
  /** The cursor is moved by keys: what it comes to is read out. */
  readonly isKeyed: boolean;
}

/** More of one place are counted. */
const marksShown = 3;

/** The values under the cursor, or else the newest: above the chart, never over a line. */
export function Readout({ lines, marks, spans, zone, time: under, msPerPixel, isKeyed }: ReadoutProps) {
  const place = useRef<HTMLElement>(null);
  const isCut = useCut(place);
  const time = under.value;
  const newest = Math.max(...lines.map(({ times }) => times.at(-1) ?? Number.NEGATIVE_INFINITY));
  const shown = time ?? newest;
  const near =
    time === null ? [] : [...spansAt(spans, time, msPerPixel), ...marksNear(marks, time, msPerPixel)];
  return (
    <figcaption
      ref={place}
      class="readout"
      aria-live={isKeyed ? "polite" : "off"}
      {...(isCut ? { tabIndex: 0 } : {})}
    >
      <span class="mono">
        {Number.isFinite(shown) ? `${wallText(zone, shown)} ${offsetText(zone, shown)}` : "–"}
      </span>
      {lines.map((line) => (
        <span key={line.name} class={`reading series-${line.color}`}>
          <span class={line.isDashed === true ? "swatch dashed" : "swatch"} aria-hidden="true" />
          {line.name}{" "}
          <strong>
            {numberText(
              time === null ? line.values.findLast((value) => value !== null) : valueAt(line, time),
            )}
          </strong>{" "}
          {line.unit}
        </span>
      ))}
      {near.slice(0, marksShown).map(({ tone, text }, i) => (
        <Status key={`${i} ${text}`} tone={tone} word={text} />
      ))}
      {near.length > marksShown && <span>{t("chart.more", { count: near.length - marksShown })}</span>}
    </figcaption>
  );
}
