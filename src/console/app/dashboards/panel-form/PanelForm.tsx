/** What a panel is made of, edited beside the dashboard, which follows at once. */
import { useEffect, useRef } from "preact/hooks";
import { t } from "../../i18n.js";
import { Field } from "../../shell/Field.js";
import { useReturnFocus } from "../../shell/use-return-focus.js";
import { isSeriesPanel, type Panel } from "../document.js";
import { AlertsFields } from "./AlertsFields.js";
import { CommandFields } from "./CommandFields.js";
import { MapFields } from "./MapFields.js";
import type { PanelFormProps } from "./panel-form.js";
import { SeriesFields } from "./SeriesFields.js";

export function PanelForm(props: PanelFormProps) {
  const { panel, onPanel, onClose } = props;
  const first = useRef<HTMLInputElement>(null);
  useReturnFocus();
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
      {isSeriesPanel(panel) && <SeriesFields {...props} panel={panel} />}
      {panel.type === "map" && <MapFields {...props} panel={panel} />}
      {panel.type === "alerts" && <AlertsFields {...props} panel={panel} />}
      {panel.type === "command" && <CommandFields {...props} panel={panel} />}
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
