/** What a dashboard is looked at with: range, zone, and the values of its variables; all of it is in the address. */
import { isZone, offsetText } from "../charts/zone.js";
import { t } from "../i18n.js";
import { presets, shifted } from "../range.js";
import { setQuery } from "../router.js";
import type { Variable } from "./document.js";
import { RecordInput } from "./RecordInput.js";
import { type Chosen, chosenValue } from "./targets.js";

interface BoardControlsProps {
  readonly range: { readonly start: string; readonly end: string };
  readonly span: { readonly from: number; readonly to: number } | null;
  readonly zone: string;
  readonly variables: readonly Variable[];
  readonly chosen: Chosen;
  /** A share shows what its dashboard has chosen. */
  readonly isOwn: boolean;
  onRefresh(): void;
}

export const variableKey = (name: string): string => `v.${name}`;

export function BoardControls({
  range,
  span,
  zone,
  variables,
  chosen,
  isOwn,
  onRefresh,
}: BoardControlsProps) {
  const isPreset = presets.some(({ start, end }) => start === range.start && end === range.end);
  return (
    <div class="row controls">
      <select
        class="input choice"
        aria-label={t("board.range")}
        value={isPreset ? range.start : ""}
        onChange={(event) => {
          const start = event.currentTarget.value;
          if (start !== "") setQuery({ from: start, to: "now" }, { replace: false });
        }}
      >
        {!isPreset && <option value="">{t("board.ownRange", { ...range })}</option>}
        {presets.map(({ start }) => (
          <option key={start} value={start}>
            {t("board.last", { span: start.slice(1) })}
          </option>
        ))}
      </select>
      {span !== null &&
        ([-0.5, 0.5] as const).map((by) => (
          <button
            key={by}
            type="button"
            class="button"
            aria-label={t(by < 0 ? "range.earlier" : "range.later")}
            onClick={() => {
              const { start, end } = shifted(span, by);
              setQuery({ from: start, to: end }, { replace: false });
            }}
          >
            {by < 0 ? "←" : "→"}
          </button>
        ))}
      <button
        type="button"
        class="button"
        onClick={onRefresh}
        aria-label={t("board.refresh")}
        title={t("board.refresh")}
      >
        ↻
      </button>
      <span class="row">
        <ZoneInput zone={zone} onZone={(tz) => setQuery({ tz })} />
        <span class="mono muted">{offsetText(zone, Date.now())}</span>
      </span>
      {isOwn &&
        variables
          .filter(({ type }) => type !== "timezone")
          .map((variable) => (
            <VariableInput key={variable.name} variable={variable} value={chosenValue(variable, chosen)} />
          ))}
    </div>
  );
}

function ZoneInput({ zone, onZone }: { readonly zone: string; onZone(zone: string): void }) {
  return (
    <>
      <input
        class="input zone"
        aria-label={t("explore.zone")}
        list="board-zones"
        value={zone}
        onChange={(event) => {
          if (isZone(event.currentTarget.value)) onZone(event.currentTarget.value);
          else event.currentTarget.value = zone;
        }}
      />
      <datalist id="board-zones">
        {Intl.supportedValuesOf("timeZone").map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </>
  );
}

function VariableInput({ variable, value }: { readonly variable: Variable; readonly value: string }) {
  const { name, label, type } = variable;
  const choose = (text: string): void =>
    setQuery({ [variableKey(name)]: text === variable.value ? undefined : text }, { replace: false });
  const shown = label === "" ? name : label;
  return (
    <span class="row">
      <span class="muted">{shown}</span>
      {type === "device" || type === "group" || type === "product" ? (
        <RecordInput type={type} value={value} label={shown} onValue={choose} />
      ) : (
        <input
          class="input choice"
          aria-label={shown}
          value={value}
          onChange={(event) => choose(event.currentTarget.value)}
        />
      )}
    </span>
  );
}
