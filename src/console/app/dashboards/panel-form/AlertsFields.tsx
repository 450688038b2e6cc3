import { describeCode } from "../../codes.js";
import { t } from "../../i18n.js";
import type { AlertsPanel } from "../document.js";
import { TargetInput } from "../TargetInput.js";
import { OptionInput } from "./OptionInput.js";
import { type FormOf, present } from "./panel-form.js";

export function AlertsFields({ panel, variables, onPanel }: FormOf<AlertsPanel>) {
  const { filters } = panel;
  const change = (
    part: { [K in keyof AlertsPanel["filters"]]?: AlertsPanel["filters"][K] | undefined },
  ): void => onPanel({ ...panel, filters: present({ ...filters, ...part } as AlertsPanel["filters"]) });
  return (
    <>
      <OptionInput
        name={t("fleet.alerts")}
        value={filters.state}
        options={[
          ["current", t("title.currentAlerts")],
          ["history", t("title.historyAlerts")],
        ]}
        onValue={(state) => change({ state: state ?? "current" })}
      />
      <OptionInput
        name={t("board.severity")}
        value={filters.alertSeverity === undefined ? undefined : String(filters.alertSeverity)}
        empty={t("board.anySeverity")}
        options={[1, 2, 3, 4].map((code) => [String(code), describeCode("alertSeverity", code)])}
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
