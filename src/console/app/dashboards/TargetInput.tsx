/** Whom a panel is about: a variable of the dashboard, or a record. */
import { t } from "../i18n.js";
import type { Variable } from "./document.js";
import { RecordInput } from "./RecordInput.js";

interface TargetInputProps {
  readonly name: string;
  readonly type: "device" | "group" | "product";
  /** Types of variables that may stand for it; absent: of the same type. */
  readonly variableTypes?: readonly string[];
  readonly value: string;
  readonly variables: readonly Variable[];
  onValue(value: string): void;
}

export function TargetInput({
  name,
  type,
  variableTypes = [type],
  value,
  variables,
  onValue,
}: TargetInputProps) {
  const fitting = variables.filter((variable) => variableTypes.includes(variable.type));
  const isVariable = value.startsWith("$");
  return (
    <div class="field">
      <span class="name">{name}</span>
      <span class="target">
        {fitting.length > 0 && (
          <select
            class="input"
            aria-label={t("board.variable", { name })}
            value={isVariable ? value : ""}
            onChange={(event) => onValue(event.currentTarget.value)}
          >
            <option value="">{t("board.fixed")}</option>
            {fitting.map((variable) => (
              <option key={variable.name} value={`$${variable.name}`}>
                ${variable.name}
              </option>
            ))}
          </select>
        )}
        {!isVariable && <RecordInput type={type} value={value} label={name} onValue={onValue} />}
      </span>
    </div>
  );
}
