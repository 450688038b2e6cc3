/** What a panel is made of, edited beside the dashboard, which follows at once. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { wordOf } from "../codes.js";
import { t } from "../i18n.js";
import {
  type AlertsPanel,
  type CommandPanel,
  fills,
  isSeriesPanel,
  type MapPanel,
  type Panel,
  type SeriesPanel,
  units,
  type Variable,
} from "./document.js";
import { SeriesForm } from "./SeriesForm.js";
import { TargetInput } from "./TargetInput.js";

interface PanelFormProps {
  readonly panel: Panel;
  readonly variables: readonly Variable[];
  onPanel(panel: Panel): void;
  onClose(): void;
}

export function PanelForm(props: PanelFormProps) {
  const { panel, onPanel, onClose } = props;
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <aside
      class="drawer form"
      aria-label={t("board.panel")}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <p class="row spread">
        <strong>{t(`panel.${panel.type}`)}</strong>
        <button type="button" class="button quiet" onClick={onClose}>
          {t("action.close")}
        </button>
      </p>
      <Field name={t("board.title")}>
        <input
          ref={first}
          class="input"
          maxLength={200}
          value={panel.title}
          onInput={(event) => onPanel({ ...panel, title: event.currentTarget.value })}
        />
      </Field>
      {isSeriesPanel(panel) && <OverTime {...props} panel={panel} />}
      {panel.type === "map" && <OnMap {...props} panel={panel} />}
      {panel.type === "alerts" && <OfAlerts {...props} panel={panel} />}
      {panel.type === "command" && <OfCommand {...props} panel={panel} />}
      {panel.type === "text" && (
        <Field name={t("board.markdown")}>
          <textarea
            class="input mono"
            rows={14}
            maxLength={20_000}
            value={panel.markdown}
            onInput={(event) => onPanel({ ...panel, markdown: event.currentTarget.value })}
          />
        </Field>
      )}
      <PhoneFields panel={panel} onPanel={onPanel} />
    </aside>
  );
}

interface FieldProps {
  readonly name: string;
  readonly children: ComponentChildren;
}

function Field({ name, children }: FieldProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: its control is among its children
    <label class="field">
      <span class="name">{name}</span>
      {children}
    </label>
  );
}

type FormOf<P extends Panel> = Omit<PanelFormProps, "panel"> & { readonly panel: P };

const comparisons = ["-1h", "-1d", "-1w", "-1y"] as const;

/** Without what is not there: the document has no fields that are undefined. */
function present<P extends object>(panel: P): P {
  return Object.fromEntries(Object.entries(panel).filter(([, value]) => value !== undefined)) as P;
}

function OverTime({ panel, variables, onPanel }: FormOf<SeriesPanel>) {
  const change = (part: { [K in keyof SeriesPanel]?: SeriesPanel[K] | undefined }): void =>
    onPanel(present({ ...panel, ...part } as SeriesPanel));
  return (
    <>
      <SeriesForm
        series={panel.series}
        variables={variables}
        hasAxes={panel.type === "chart"}
        onSeries={(series) => change({ series })}
      />
      <Choice
        name={t("explore.window")}
        value={panel.unit}
        options={units.map((unit) => [unit, t(`unit.${unit}`)])}
        onValue={(unit) => change({ unit: unit ?? "real" })}
      />
      {panel.unit !== "real" && (
        <Choice
          name={t("board.fill")}
          value={panel.fill}
          empty={t("fill.null")}
          options={fills.map((fill) => [fill, t(`fill.${fill}`)])}
          onValue={(fill) => change({ fill })}
        />
      )}
      {panel.type !== "table" && (
        <>
          <Choice
            name={t("board.compare")}
            value={comparisons.find((one) => one === panel.compare)}
            empty={panel.compare ?? t("board.noCompare")}
            options={comparisons.map((one) => [one, one])}
            onValue={(compare) => change({ compare })}
          />
          <label class="row">
            <input
              type="checkbox"
              checked={panel.limits === true}
              onChange={(event) => change({ limits: event.currentTarget.checked ? true : undefined })}
            />
            {t("board.limits")}
          </label>
        </>
      )}
    </>
  );
}

interface ChoiceProps<Value extends string> {
  readonly name: string;
  readonly value: Value | undefined;
  /** What none of them is called; absent: one must be chosen. */
  readonly empty?: string;
  readonly options: readonly (readonly [Value, string])[];
  onValue(value: Value | undefined): void;
}

function Choice<Value extends string>({ name, value, empty, options, onValue }: ChoiceProps<Value>) {
  return (
    <Field name={name}>
      <select
        class="input"
        value={value ?? ""}
        onChange={(event) => onValue(options.find(([one]) => one === event.currentTarget.value)?.[0])}
      >
        {empty !== undefined && <option value="">{empty}</option>}
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}

function OnMap({ panel, variables, onPanel }: FormOf<MapPanel>) {
  const { deviceIDs: _, groupID, productID, ...rest } = panel;
  const kind = groupID !== undefined ? "group" : productID !== undefined ? "product" : undefined;
  return (
    <>
      <Choice
        name={t("board.devicesOf")}
        value={kind}
        empty={t("board.allDevices")}
        options={[
          ["group", t("title.groups")],
          ["product", t("nav.products")],
        ]}
        onValue={(next) =>
          onPanel(next === undefined ? rest : { ...rest, [next === "group" ? "groupID" : "productID"]: "" })
        }
      />
      {kind !== undefined && (
        <TargetInput
          name={t(kind === "group" ? "board.group" : "fleet.product")}
          type={kind}
          value={groupID ?? productID ?? ""}
          variables={variables}
          onValue={(value) => onPanel({ ...rest, [kind === "group" ? "groupID" : "productID"]: value })}
        />
      )}
    </>
  );
}

function OfAlerts({ panel, variables, onPanel }: FormOf<AlertsPanel>) {
  const { filters } = panel;
  const change = (
    part: { [K in keyof AlertsPanel["filters"]]?: AlertsPanel["filters"][K] | undefined },
  ): void => onPanel({ ...panel, filters: present({ ...filters, ...part } as AlertsPanel["filters"]) });
  return (
    <>
      <Choice
        name={t("fleet.alerts")}
        value={filters.state}
        options={[
          ["current", t("title.currentAlerts")],
          ["history", t("title.historyAlerts")],
        ]}
        onValue={(state) => change({ state: state ?? "current" })}
      />
      <Choice
        name={t("board.severity")}
        value={filters.alertSeverity === undefined ? undefined : String(filters.alertSeverity)}
        empty={t("board.anySeverity")}
        options={[1, 2, 3, 4].map((code) => [String(code), wordOf("alertSeverity", code)])}
        onValue={(code) => change({ alertSeverity: code === undefined ? undefined : Number(code) })}
      />
      <TargetInput
        name={t("explore.device")}
        type="device"
        value={filters.deviceID ?? ""}
        variables={variables}
        onValue={(value) => change({ deviceID: value === "" ? undefined : value })}
      />
      <TargetInput
        name={t("fleet.product")}
        type="product"
        value={filters.productID ?? ""}
        variables={variables}
        onValue={(value) => change({ productID: value === "" ? undefined : value })}
      />
    </>
  );
}

function OfCommand({ panel, variables, onPanel }: FormOf<CommandPanel>) {
  const { deviceID, groupID, topic, ...rest } = panel;
  const kind = groupID === undefined ? "device" : "group";
  const withTopic = topic === undefined ? {} : { topic };
  const targeted = (next: "device" | "group", value: string): CommandPanel => ({
    ...rest,
    ...withTopic,
    ...(next === "group" ? { groupID: value } : { deviceID: value }),
  });
  return (
    <>
      <Choice
        name={t("board.to")}
        value={kind}
        options={[
          ["device", t("explore.device")],
          ["group", t("board.group")],
        ]}
        onValue={(next) => onPanel(targeted(next ?? "device", ""))}
      />
      <TargetInput
        name={t(kind === "group" ? "board.group" : "explore.device")}
        type={kind}
        value={groupID ?? deviceID ?? ""}
        variables={variables}
        onValue={(value) => onPanel(targeted(kind, value))}
      />
      <Field name={t("command.topic")}>
        <input
          class="input mono"
          placeholder="inbox"
          value={topic ?? ""}
          onInput={(event) => {
            const value = event.currentTarget.value;
            const { topic: _, ...without } = panel;
            onPanel(value === "" ? without : { ...panel, topic: value });
          }}
        />
      </Field>
      <Field name={t("command.payload")}>
        <textarea
          class="input mono"
          rows={4}
          value={panel.payload}
          onInput={(event) => onPanel({ ...panel, payload: event.currentTarget.value })}
        />
      </Field>
      <Field name={t("board.buttonText")}>
        <input
          class="input"
          maxLength={200}
          value={panel.label}
          onInput={(event) => onPanel({ ...panel, label: event.currentTarget.value })}
        />
      </Field>
      <label class="row">
        <input
          type="checkbox"
          checked={panel.confirm}
          onChange={(event) => onPanel({ ...panel, confirm: event.currentTarget.checked })}
        />
        {t("board.confirm")}
      </label>
    </>
  );
}

function PhoneFields({ panel, onPanel }: Pick<PanelFormProps, "panel" | "onPanel">) {
  const { phone, layout } = panel;
  const number = (text: string, least: number): number | null =>
    /^\d{1,4}$/.test(text) && Number(text) >= least ? Number(text) : null;
  return (
    <details>
      <summary class="muted">{t("board.phone")}</summary>
      <div class="fields">
        <Field name={t("board.phoneOrder")}>
          <input
            class="input"
            inputMode="numeric"
            value={phone?.order ?? ""}
            onInput={(event) => {
              const order = number(event.currentTarget.value, 0);
              const { phone: _, ...rest } = panel;
              if (event.currentTarget.value === "") onPanel(rest as Panel);
              else if (order !== null) onPanel({ ...panel, phone: { order, h: phone?.h ?? layout.h } });
            }}
          />
        </Field>
        <Field name={t("board.phoneRows")}>
          <input
            class="input"
            inputMode="numeric"
            disabled={phone === undefined}
            value={phone?.h ?? layout.h}
            onInput={(event) => {
              const h = number(event.currentTarget.value, 1);
              if (h !== null && h <= 100 && phone !== undefined)
                onPanel({ ...panel, phone: { ...phone, h } });
            }}
          />
        </Field>
      </div>
    </details>
  );
}
