/** What a dashboard is looked at with: range, zone, and the values of its variables; all of it is in the address. */
import { t } from "../i18n.js";
import { RangePicker } from "../range/RangePicker.js";
import { ZonePicker } from "../range/ZonePicker.js";
import { setQuery } from "../router.js";
import { CommittedInput } from "../shell/CommittedInput.js";
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
  return (
    <div class="row controls">
      <RangePicker
        from={range.start}
        to={range.end}
        span={span}
        zone={zone}
        isCompact
        onRange={(from, to) => setQuery({ from, to }, { replace: false })}
      />
      <button
        type="button"
        class="button"
        onClick={onRefresh}
        aria-label={t("board.refresh")}
        title={t("board.refresh")}
      >
        ↻
      </button>
      <ZonePicker zone={zone} onZone={(tz) => setQuery({ tz })} />
      {isOwn &&
        variables
          .filter(({ type }) => type !== "timezone")
          .map((variable) => (
            <VariableInput key={variable.name} variable={variable} value={chosenValue(variable, chosen)} />
          ))}
    </div>
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
        <CommittedInput class="input choice" aria-label={shown} value={value} onCommit={choose} />
      )}
    </span>
  );
}
