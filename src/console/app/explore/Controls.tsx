/** How the series are seen: range, window, zone, an earlier time beside them, as lines or as a table. */
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import { RangePicker } from "../range/RangePicker.js";
import { ZonePicker } from "../range/ZonePicker.js";
import { formatHref, query, setQuery } from "../router.js";
import { CopyButton } from "../shell/CopyButton.js";
import { aggregates, comparisons, type ExploreState, mean, units } from "./state.js";

interface ControlsProps {
  readonly state: ExploreState;
  readonly span: { readonly from: number; readonly to: number } | null;
  onRange(from: string, to: string): void;
}

export function Controls({ state, span, onRange }: ControlsProps) {
  const { from, to, zone, unit, aggregate, compare, isTable, isLive } = state;
  return (
    <div class="view-settings">
      <RangePicker from={from} to={to} span={span} zone={zone} onRange={onRange} />
      <div class="row">
        <Choice
          label={t("explore.window")}
          value={unit}
          options={units.map((one) => [one, t(`unit.${one}`)])}
          onChoice={(u) => choose({ u: u === "real" ? undefined : u })}
        />
        {unit !== "real" && (
          <Choice
            label={t("explore.aggregate")}
            value={String(aggregate)}
            options={aggregates.map((one) => [String(one), describeCode("aggregateType", one)])}
            onChoice={(a) => choose({ a: a === String(mean) ? undefined : a })}
          />
        )}
        <Choice
          label={t("explore.compare")}
          value={compare ?? ""}
          options={[["", "–"], ...comparisons.map((one) => [one, t(`compare.${one}`)] as const)]}
          onChoice={(c) => choose({ c: c === "" ? undefined : c })}
        />
        <ZonePicker zone={zone} onZone={(tz) => choose({ tz })} />
        <button
          type="button"
          class="button"
          aria-pressed={isTable}
          onClick={() => choose({ view: isTable ? undefined : "table" })}
        >
          {t("explore.asTable")}
        </button>
        {(to === "now" || isLive) && (
          <button
            type="button"
            class="button"
            aria-pressed={isLive}
            aria-keyshortcuts="l"
            onClick={() => setQuery({ live: isLive ? undefined : "1" })}
          >
            {t("live.on")}
          </button>
        )}
        {span !== null && <CopyButton text={fixedLink(zone, span)}>{t("explore.fixedLink")}</CopyButton>}
      </div>
    </div>
  );
}

/** Each choice is a step that Back undoes. */
const choose = (changes: Readonly<Record<string, string | undefined>>): void =>
  setQuery(changes, { replace: false });

/** A link that shows the same view at any time and in any time zone. */
function fixedLink(zone: string, { from, to }: { readonly from: number; readonly to: number }): string {
  const fixed = { from: String(Math.round(from)), to: String(Math.round(to)), tz: zone, live: undefined };
  return location.origin + formatHref("/explore", { ...query.value, ...fixed });
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  onChoice(value: string): void;
}

function Choice({ label, value, options, onChoice }: ChoiceProps) {
  return (
    <label class="row tight named">
      <span class="muted">{label}</span>
      <select class="input choice" value={value} onChange={(event) => onChoice(event.currentTarget.value)}>
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
