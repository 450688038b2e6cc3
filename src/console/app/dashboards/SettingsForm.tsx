/** What holds for a whole dashboard: its name, range, zone, variables; and the document as JSON. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n.js";
import { CopyButton } from "../shell/CopyButton.js";
import { useReturnFocus } from "../shell/use-return-focus.js";
import { type Dashboard, type DashboardDocument, type Variable, variableTypes } from "./document.js";
import { RecordInput } from "./RecordInput.js";

type Content = Pick<Dashboard, "name" | "description" | "document">;

interface SettingsFormProps {
  readonly content: Content;
  onChange(part: Partial<Content>): void;
  onClose(): void;
}

const refreshes = [0, 5, 10, 30, 60, 300, 3600] as const;

export function SettingsForm({ content, onChange, onClose }: SettingsFormProps) {
  const { name, description, document } = content;
  const place = useRef<HTMLElement>(null);
  useReturnFocus();
  useEffect(() => place.current?.querySelector("input")?.focus(), []);
  const change = (part: Partial<DashboardDocument>): void => onChange({ document: { ...document, ...part } });
  return (
    <aside
      ref={place}
      class="drawer form"
      aria-label={t("board.settings")}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <p class="row spread">
        <strong>{t("board.settings")}</strong>
        <button type="button" class="button quiet" onClick={onClose}>
          {t("action.close")}
        </button>
      </p>
      <Text name={t("board.name")} value={name} onText={(text) => onChange({ name: text })} />
      <Text
        name={t("board.description")}
        value={description ?? ""}
        onText={(text) => onChange({ description: text === "" ? null : text })}
      />
      <div class="fields">
        <Text
          name={t("board.start")}
          value={document.range.start}
          onText={(start) => change({ range: { ...document.range, start } })}
        />
        <Text
          name={t("board.end")}
          value={document.range.end}
          onText={(end) => change({ range: { ...document.range, end } })}
        />
        <Text
          name={t("explore.zone")}
          value={document.timezone}
          onText={(timezone) => change({ timezone })}
        />
        <label class="field">
          <span class="name">{t("board.refreshEvery")}</span>
          <select
            class="input"
            value={document.refreshSeconds}
            onChange={(event) => change({ refreshSeconds: Number(event.currentTarget.value) })}
          >
            {[...new Set([...refreshes, document.refreshSeconds])].map((seconds) => (
              <option key={seconds} value={seconds}>
                {seconds === 0 ? t("board.never") : t("board.seconds", { seconds })}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Variables variables={document.variables} onVariables={(variables) => change({ variables })} />
      <JsonText document={document} onDocument={(next) => onChange({ document: next })} />
    </aside>
  );
}

interface TextProps {
  readonly name: string;
  readonly value: string;
  onText(text: string): void;
}

function Text({ name, value, onText }: TextProps) {
  return (
    <label class="field">
      <span class="name">{name}</span>
      <input class="input" value={value} onInput={(event) => onText(event.currentTarget.value)} />
    </label>
  );
}

interface VariablesProps {
  readonly variables: readonly Variable[];
  onVariables(variables: readonly Variable[]): void;
}

const variablesMax = 20;

function Variables({ variables, onVariables }: VariablesProps) {
  const change = (i: number, part: Partial<Variable>): void =>
    onVariables(variables.map((one, k) => (k === i ? { ...one, ...part } : one)));
  return (
    <div class="form">
      <span class="muted">{t("board.variables")}</span>
      {variables.map((variable, i) => (
        <fieldset key={i} class="fields">
          <Text name={t("board.variableName")} value={variable.name} onText={(name) => change(i, { name })} />
          <Text name={t("board.label")} value={variable.label} onText={(label) => change(i, { label })} />
          <label class="field">
            <span class="name">{t("board.variableType")}</span>
            <select
              class="input"
              value={variable.type}
              onChange={(event) => {
                const type = variableTypes.find((one) => one === event.currentTarget.value);
                if (type !== undefined) change(i, { type, value: type === "timezone" ? "deployment" : "" });
              }}
            >
              {variableTypes.map((type) => (
                <option key={type} value={type}>
                  {t(`variable.${type}`)}
                </option>
              ))}
            </select>
          </label>
          {variable.type === "text" || variable.type === "timezone" ? (
            <Text name={t("board.value")} value={variable.value} onText={(value) => change(i, { value })} />
          ) : (
            <div class="field">
              <span class="name">{t("board.value")}</span>
              <RecordInput
                type={variable.type}
                value={variable.value}
                label={t("board.value")}
                onValue={(value) => change(i, { value })}
              />
            </div>
          )}
          <button
            type="button"
            class="button quiet"
            onClick={() => onVariables(variables.filter((_, k) => k !== i))}
          >
            {t("action.delete")}
          </button>
        </fieldset>
      ))}
      {variables.length < variablesMax && (
        <button
          type="button"
          class="button"
          onClick={() =>
            onVariables([
              ...variables,
              { name: `v${variables.length + 1}`, label: "", type: "device", value: "" },
            ])
          }
        >
          {t("board.addVariable")}
        </button>
      )}
    </div>
  );
}

interface JsonTextProps {
  readonly document: DashboardDocument;
  onDocument(document: DashboardDocument): void;
}

/** The service says what is wrong with a document: here it need only be one that can be drawn. */
function JsonText({ document, onDocument }: JsonTextProps) {
  const text = useSignal<string | null>(null);
  const fault = useSignal<string | null>(null);
  const shown = text.value ?? JSON.stringify(document, null, 2);
  function take(): void {
    const read = readDocument(shown);
    fault.value = typeof read === "string" ? read : null;
    if (typeof read === "string") return;
    text.value = null;
    onDocument(read);
  }
  return (
    <details>
      <summary class="muted">JSON</summary>
      <textarea
        class="input mono"
        rows={12}
        aria-label="JSON"
        value={shown}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
      {fault.value !== null && (
        <p class="notice bad" role="alert">
          {fault.value}
        </p>
      )}
      <p class="row">
        <CopyButton text={shown}>{t("action.copy")}</CopyButton>
        <button type="button" class="button" disabled={text.value === null} onClick={take}>
          {t("board.take")}
        </button>
      </p>
    </details>
  );
}

/** @returns what is wrong with it, if it is none */
export function readDocument(text: string): DashboardDocument | string {
  try {
    const read = JSON.parse(text) as Partial<DashboardDocument> | null;
    const panels: unknown = read?.panels;
    const isDrawable =
      Array.isArray(panels) &&
      panels.every((panel: Partial<DashboardDocument["panels"][number]> | null) =>
        [panel?.layout?.x, panel?.layout?.y, panel?.layout?.w, panel?.layout?.h].every(Number.isInteger),
      ) &&
      Array.isArray(read?.variables) &&
      typeof read?.range?.start === "string" &&
      typeof read.range.end === "string";
    return isDrawable ? (read as DashboardDocument) : t("board.noDocument");
  } catch (error) {
    return error instanceof Error ? error.message : t("form.json");
  }
}
