/** A condition put together of comparisons; it is the text of the formula, in another form. */
import type { FormulaScope } from "../formula/names.js";
import { t } from "../i18n.js";
import { type Condition, operators, type Part, parseCondition, textOfCondition } from "./conditions.js";

interface ConditionBuilderProps {
  readonly text: string;
  readonly scope: FormulaScope | null;
  onText(text: string): void;
}

export function ConditionBuilder({ text, scope, onText }: ConditionBuilderProps) {
  const condition = parseCondition(text);
  if (condition === null) return <p class="muted hint">{t("rule.free")}</p>;
  const { join, parts } = condition;
  const change = (next: Partial<Condition>): void => onText(textOfCondition({ ...condition, ...next }));
  return (
    <fieldset class="builder">
      <legend class="name muted">{t("rule.when")}</legend>
      {parts.map((part, i) => (
        <div key={i} class="row">
          {i > 0 && <span class="muted">{t(`rule.${join}`)}</span>}
          <Comparison
            part={part}
            scope={scope}
            onPart={(next) => change({ parts: parts.map((one, at) => (at === i ? next : one)) })}
          />
          {parts.length > 1 && (
            <button
              type="button"
              class="button quiet"
              aria-label={t("rule.remove")}
              onClick={() => change({ parts: parts.filter((_, at) => at !== i) })}
            >
              ×
            </button>
          )}
        </div>
      ))}
      <div class="row">
        <button
          type="button"
          class="button quiet"
          onClick={() => change({ parts: [...parts, { name: "dataPoint", operator: ">", value: "" }] })}
        >
          {t("rule.add")}
        </button>
        {parts.length > 1 && (
          <label class="row tight">
            <span class="muted">{t("rule.join")}</span>
            <select
              class="input choice"
              value={join}
              onChange={(event) => change({ join: event.currentTarget.value === "or" ? "or" : "and" })}
            >
              {(["and", "or"] as const).map((one) => (
                <option key={one} value={one}>
                  {t(one === "and" ? "rule.all" : "rule.any")}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
    </fieldset>
  );
}

interface ComparisonProps {
  readonly part: Part;
  readonly scope: FormulaScope | null;
  onPart(part: Part): void;
}

function Comparison({ part, scope, onPart }: ComparisonProps) {
  const names: readonly (readonly [name: string, text: string])[] = [
    ["dataPoint", scope?.point.dataPointName ?? "dataPoint"],
    ["lastValue", t("rule.before", { name: scope?.point.dataPointName ?? "dataPoint" })],
    ...(scope?.others.map(({ dataPointID, dataPointName }) => [dataPointID, dataPointName] as const) ?? []),
  ];
  const isKnown = names.some(([name]) => name === part.name);
  const unit =
    part.name === "dataPoint" || part.name === "lastValue"
      ? scope?.point.unitSymbol
      : scope?.others.find(({ dataPointID }) => dataPointID === part.name)?.unitSymbol;
  return (
    <>
      <select
        class="input choice"
        aria-label={t("rule.value")}
        value={part.name}
        onChange={(event) => onPart({ ...part, name: event.currentTarget.value })}
      >
        {!isKnown && <option value={part.name}>{part.name}</option>}
        {names.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
      <select
        class="input operator mono"
        aria-label={t("rule.operator")}
        value={part.operator}
        onChange={(event) =>
          onPart({ ...part, operator: operators.find((one) => one === event.currentTarget.value) ?? ">" })
        }
      >
        {operators.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <input
        class="input bound"
        inputMode="decimal"
        autocomplete="off"
        aria-label={t("rule.bound")}
        value={part.value}
        onInput={(event) => onPart({ ...part, value: event.currentTarget.value.trim() })}
      />
      <span class="muted">{unit}</span>
    </>
  );
}
