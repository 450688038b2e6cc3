import type { ReadonlySignal } from "@preact/signals";
import { Status } from "../shell/Status.js";
import { type Mark, marksNear } from "./decorations.js";
import { type Line, valueAt } from "./lines.js";
import { numberText } from "./numbers.js";
import { offsetText, wallText } from "./zone.js";

interface ReadoutProps {
  readonly lines: readonly Line[];
  readonly marks: readonly Mark[];
  readonly zone: string;
  /** Under the cursor; null: the newest values are shown. */
  readonly time: ReadonlySignal<number | null>;
  readonly msPerPixel: number;
}

/** The values under the cursor, or else the newest: above the chart, never over a line. */
export function Readout({ lines, marks, zone, time: under, msPerPixel }: ReadoutProps) {
  const time = under.value;
  const newest = Math.max(...lines.map(({ times }) => times.at(-1) ?? Number.NEGATIVE_INFINITY));
  const shown = time ?? newest;
  return (
    <figcaption class="readout">
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
      {time !== null &&
        marksNear(marks, time, msPerPixel).map((mark) => (
          <Status key={`${mark.time} ${mark.text}`} tone={mark.tone} word={mark.text} />
        ))}
    </figcaption>
  );
}
