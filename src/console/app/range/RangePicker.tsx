/** The range: steps back from now, moved along, or from one exact time to another in the zone. */
import { useId } from "preact/hooks";
import { offsetText, timeOf, wallOf, wallText } from "../charts/zone.js";
import { t } from "../i18n.js";
import { presets, shifted } from "./range.js";

interface RangePickerProps {
  /** As the address has them. */
  readonly from: string;
  readonly to: string;
  /** Null: they mean no range. */
  readonly span: { readonly from: number; readonly to: number } | null;
  readonly zone: string;
  onRange(from: string, to: string): void;
}

export function RangePicker({ from, to, span, zone, onRange }: RangePickerProps) {
  return (
    <div class="row">
      <span class="row tight">
        {presets.map(({ start, end }, i) => (
          <button
            key={start}
            type="button"
            class="button"
            {...(i === 0 ? { "aria-keyshortcuts": "t" } : {})}
            aria-pressed={start === from && end === to}
            onClick={() => onRange(start, end)}
          >
            {start}
          </button>
        ))}
      </span>
      {span !== null && (
        <>
          <span class="row tight">
            {([-0.5, 0.5] as const).map((by) => (
              <button
                key={by}
                type="button"
                class="button"
                aria-keyshortcuts={by < 0 ? "[" : "]"}
                aria-label={t(by < 0 ? "range.earlier" : "range.later")}
                onClick={() => {
                  const { start, end } = shifted(span, by);
                  onRange(start, end);
                }}
              >
                {by < 0 ? "←" : "→"}
              </button>
            ))}
          </span>
          <TimeInput
            label={t("range.from")}
            zone={zone}
            time={span.from}
            onTime={(time) => onRange(String(time), to === "now" ? String(Math.round(span.to)) : to)}
          />
          <TimeInput
            label={t("range.to")}
            zone={zone}
            time={span.to}
            onTime={(time) => onRange(String(Math.round(span.from)), String(time))}
          />
        </>
      )}
    </div>
  );
}

interface TimeInputProps {
  readonly label: string;
  readonly zone: string;
  readonly time: number;
  onTime(time: number): void;
}

/** A wall time of the zone; where the clock shows it twice, its offset is the button that chooses which is meant. */
export function TimeInput({ label, zone, time, onTime }: TimeInputProps) {
  const id = useId();
  const second = Math.floor(time / 1000) * 1000;
  const other = otherTime(zone, second);
  const offset = offsetText(zone, second);
  return (
    <span class="row tight">
      <label class="muted" for={id}>
        {label}
      </label>
      <input
        id={id}
        class="input time"
        type="datetime-local"
        step={1}
        value={wallText(zone, second).replace(" ", "T")}
        onChange={(event) => {
          const wall = Date.parse(`${event.currentTarget.value}Z`);
          if (Number.isFinite(wall)) onTime(timeOf(zone, wall));
        }}
      />
      {other === null ? (
        <span class="mono muted">{offset}</span>
      ) : (
        <button
          type="button"
          class="button mono"
          title={t("range.twice", { offset: offsetText(zone, other) })}
          onClick={() => onTime(other)}
        >
          {offset}
        </button>
      )}
    </span>
  );
}

const shifts = [30, 60, 120].map((minutes) => minutes * 60_000);

/** The other time at which the wall clock shows the same; null for none. */
function otherTime(zone: string, time: number): number | null {
  const wall = wallOf(zone, time);
  const others = shifts.flatMap((shift) => [time - shift, time + shift]);
  return others.find((one) => wallOf(zone, one) === wall) ?? null;
}
