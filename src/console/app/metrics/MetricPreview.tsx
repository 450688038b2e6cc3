/** What a metric that is not saved gives, asked for when typing rests; the curve before stays meanwhile. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { fetchResponse, readJson } from "../api.js";
import { Chart } from "../charts/LazyChart.js";
import { useDebounced } from "../debounced.js";
import { type Unit, units } from "../explore/state.js";
import { windowStart } from "../explore/windows.js";
import type { FormulaScope } from "../formula/names.js";
import { PreviewRange, usePreviewDevice } from "../formula/PreviewRange.js";
import { t } from "../i18n.js";
import { useQuery } from "../query.js";
import { ZonePicker } from "../range/ZonePicker.js";
import { me } from "../session.js";

interface MetricPreviewProps {
  /** Null: no data point is chosen yet. */
  readonly scope: FormulaScope | null;
  /** The fields of the metric. */
  readonly metric: { readonly metricType: 1 | 2; readonly expressions?: string };
  readonly name: string;
  /** What the service says of the fields; empty: nothing. */
  onFaults(faults: Readonly<Record<string, string>>): void;
}

interface Previewed {
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
  /** Points at which the formula has no number. */
  readonly errors: number;
  readonly from: number;
  readonly to: number;
  readonly unit: Unit;
}

const restMs = 300;
const dayMs = 86_400_000;
const height = 220;
const maxPoints = 2000;
const longestMinutesDays = 6;

export function MetricPreview({ scope, metric, name, onFaults }: MetricPreviewProps) {
  const [device, chooseDevice] = usePreviewDevice(scope?.point.productID ?? null);
  const days = useSignal(7);
  const window = useSignal<Unit>("hour");
  const zone = useSignal(me.value?.timezone ?? "UTC");
  const now = useSignal(Date.now());
  const isFormula = metric.metricType === 1;
  const unit = isFormula ? "real" : window.value;
  const isAskable = scope !== null && device !== "" && metric.expressions?.trim() !== "";
  const body = {
    ...metric,
    dataPointIntID: scope?.point.id,
    deviceID: device,
    startTime: now.value - days.value * dayMs,
    endTime: now.value,
    timeFormat: "ms",
    time_unit: unit,
    timezone: zone.value,
    ...(isFormula ? { maxPoints } : {}),
  };
  const key = useDebounced(isAskable ? JSON.stringify(body) : "", restMs);
  const asked = useQuery(key, async (signal): Promise<Previewed | null> => {
    if (key === "") return null;
    const sent = JSON.parse(key) as typeof body;
    const answer = await fetchResponse("POST", "/metrics_data/preview", { body: sent, signal });
    const [item] = (await readJson(answer, signal)) as readonly {
      metricData: { time: readonly number[]; value: readonly (number | null)[] };
    }[];
    return {
      times: item?.metricData.time ?? [],
      values: item?.metricData.value ?? [],
      errors: Number(answer.headers.get("formula-errors") ?? 0),
      from: sent.startTime,
      to: sent.endTime,
      unit: sent.time_unit,
    };
  });
  const faults = key === "" ? undefined : asked.failure?.fields;
  useEffect(() => onFaults(faults ?? {}), [JSON.stringify(faults ?? {})]);

  if (scope === null) return <p class="notice">{t("preview.choosePoint")}</p>;
  const { data, failure, isLoading } = asked;
  const choices = units.filter(
    (one) => one !== "real" && (one !== "minute" || days.value <= longestMinutesDays),
  );
  return (
    <section class="preview" aria-label={t("preview.title")}>
      <div class="row">
        <PreviewRange
          productID={scope.point.productID}
          device={device}
          days={days.value}
          onDevice={chooseDevice}
          onDays={(chosen) => {
            days.value = chosen;
            if (chosen > longestMinutesDays && window.value === "minute") window.value = "hour";
            now.value = Date.now();
          }}
        />
        {!isFormula && (
          <label class="row tight">
            <span class="muted">{t("explore.window")}</span>
            <select
              class="input choice"
              value={window.value}
              onChange={(event) => {
                window.value = event.currentTarget.value as Unit;
              }}
            >
              {choices.map((one) => (
                <option key={one} value={one}>
                  {t(`unit.${one}`)}
                </option>
              ))}
            </select>
          </label>
        )}
        <ZonePicker
          zone={zone.value}
          onZone={(chosen) => {
            zone.value = chosen;
          }}
        />
      </div>
      {failure !== null && Object.keys(failure.fields).length === 0 && (
        <p class="notice warn" role="alert">
          {failure.status === 0 ? t("state.away") : failure.message}
        </p>
      )}
      {device === "" && <p class="notice">{t("preview.noDevice")}</p>}
      {device !== "" && metric.expressions?.trim() === "" && <p class="notice">{t("preview.noFormula")}</p>}
      {data != null && data.times.length === 0 && <p class="notice">{t("preview.noPoints")}</p>}
      {data != null && data.times.length > 0 && (
        <div class={failure === null ? "" : "stale"} aria-busy={isLoading}>
          <Chart
            lines={[
              {
                name: name === "" ? t("preview.value") : name,
                unit: isFormula ? null : scope.point.unitSymbol,
                color: 0,
                times: data.times,
                values: data.values,
              },
            ]}
            zone={zone.value}
            from={data.from}
            to={data.to}
            height={height}
            unfinishedFrom={data.unit === "real" ? null : windowStart(zone.value, data.unit, data.to)}
            onRange={() => undefined}
          />
          {data.errors > 0 && <p class="status warn">{t("preview.errors", { count: data.errors })}</p>}
        </div>
      )}
    </section>
  );
}
