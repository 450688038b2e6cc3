/** The range: steps back from now, moved along, or from one exact time to another in the zone. */
import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import { fromWallTime, offsetText, toWallTime, wallText } from "../charts/zone.js";
import { t } from "../i18n.js";
import { presets, shifted, withEnd } from "./range.js";

interface Span {
  readonly from: number;
  readonly to: number;
}

interface RangePickerProps {
  /** As the address has them. */
  readonly from: string;
  readonly to: string;
  /** Null: they mean no range. */
  readonly span: Span | null;
  readonly zone: string;
  /** Steps back from now as one list, exact times folded away. */
  readonly isCompact?: boolean;
  onRange(from: string, to: string): void;
}

const dayMs = 86_400_000;

export function RangePicker({ from, to, span, zone, isCompact = false, onRange }: RangePickerProps) {
  const last = useRef<Span | null>(null);
  last.current = span ?? last.current ?? { from: Date.now() - dayMs, to: Date.now() };
  const shown = last.current;
  const move = (moved: Partial<Span>): void => {
    const next = withEnd(shown, moved);
    // A range that runs to now goes on to do so.
    const runsOn = to === "now" && next.to === shown.to && moved.to === undefined;
    onRange(String(Math.round(next.from)), runsOn ? to : String(Math.round(next.to)));
  };
  const times = (
    <>
      <TimeInput
        label={t("range.from")}
        zone={zone}
        time={shown.from}
        onTime={(time) => move({ from: time })}
      />
      <TimeInput label={t("range.to")} zone={zone} time={shown.to} onTime={(time) => move({ to: time })} />
    </>
  );
  return (
    <div class="row">
      {isCompact ? (
        <StepList from={from} to={to} onRange={onRange} />
      ) : (
        <StepButtons from={from} to={to} onRange={onRange} />
      )}
      <span class="row tight">
        {([-0.5, 0.5] as const).map((by) => (
          <button
            key={by}
            type="button"
            class="button"
            aria-keyshortcuts={by < 0 ? "[" : "]"}
            aria-label={t(by < 0 ? "range.earlier" : "range.later")}
            onClick={() => {
              const { start, end } = shifted(shown, by);
              onRange(start, end);
            }}
          >
            {by < 0 ? "←" : "→"}
          </button>
        ))}
      </span>
      {isCompact ? (
        <details class="exact">
          <summary>{t("range.exact")}</summary>
          <div class="row">{times}</div>
        </details>
      ) : (
        <span class="row">{times}</span>
      )}
    </div>
  );
}

type StepsProps = Pick<RangePickerProps, "from" | "to" | "onRange">;

function StepButtons({ from, to, onRange }: StepsProps) {
  return (
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
  );
}

function StepList({ from, to, onRange }: StepsProps) {
  const chosen = presets.some(({ start, end }) => start === from && end === to) ? from : "";
  return (
    <select
      class="input choice"
      aria-label={t("range.range")}
      aria-keyshortcuts="t"
      value={chosen}
      onChange={(event) => {
        const found = presets.find(({ start }) => start === event.currentTarget.value);
        if (found !== undefined) onRange(found.start, found.end);
      }}
    >
      {chosen === "" && (
        <option value="">{to === "now" && from.startsWith("-") ? lastText(from) : t("range.fixed")}</option>
      )}
      {presets.map(({ start }) => (
        <option key={start} value={start}>
          {lastText(start)}
        </option>
      ))}
    </select>
  );
}

const lastText = (start: string): string => t("range.last", { length: start.slice(1) });

interface TimeInputProps {
  readonly label: string;
  readonly zone: string;
  readonly time: number;
  onTime(time: number): void;
}

/** A wall time of the zone; where the clock shows it twice, its offset is the button that chooses which is meant. */
export function TimeInput({ label, zone, time, onTime }: TimeInputProps) {
  const id = useId();
  /** The typed text that is not taken yet: half a date is none, and half a year another one. */
  const typed = useSignal<string | null>(null);
  function take(): void {
    const wall = Date.parse(`${typed.value}Z`);
    typed.value = null;
    // If the typed time looks the same as the current one, the current one stays: the clock may show it twice.
    if (Number.isFinite(wall) && wall !== toWallTime(zone, second)) onTime(fromWallTime(zone, wall));
  }
  const second = Math.floor(time / 1000) * 1000;
  const other = otherTime(zone, second);
  const offset = offsetText(zone, second);
  return (
    <span class="row tight named">
      <label class="muted" for={id}>
        {label}
      </label>
      <input
        id={id}
        class="input time"
        type="datetime-local"
        step={1}
        value={typed.value ?? wallText(zone, second).replace(" ", "T")}
        onInput={(event) => {
          typed.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") take();
        }}
        onBlur={take}
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
  const wall = toWallTime(zone, time);
  const others = shifts.flatMap((shift) => [time - shift, time + shift]);
  return others.find((one) => toWallTime(zone, one) === wall) ?? null;
}
