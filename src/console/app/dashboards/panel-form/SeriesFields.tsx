import { t } from "../../i18n.js";
import { fills, type SeriesPanel, units } from "../document.js";
import { SeriesForm } from "../SeriesForm.js";
import { OptionInput } from "./OptionInput.js";
import { type FormOf, present } from "./panel-form.js";

const comparisons = ["-1h", "-1d", "-1w", "-1y"] as const;

/** The fields that charts, values and tables share. */
export function SeriesFields({ panel, variables, onPanel }: FormOf<SeriesPanel>) {
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
      <OptionInput
        name={t("explore.window")}
        value={panel.unit}
        options={units.map((unit) => [unit, t(`unit.${unit}`)])}
        onValue={(unit) => change({ unit: unit ?? "real" })}
      />
      {panel.unit !== "real" && (
        <OptionInput
          name={t("board.fill")}
          value={panel.fill}
          empty={t("fill.null")}
          options={fills.map((fill) => [fill, t(`fill.${fill}`)])}
          onValue={(fill) => change({ fill })}
        />
      )}
      {panel.type !== "table" && (
        <>
          <OptionInput
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
