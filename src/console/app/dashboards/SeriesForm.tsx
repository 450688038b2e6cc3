/** The series of a panel: whose data points or metrics it shows, and how each is drawn. */
import { call, type Page } from "../api.js";
import { t } from "../i18n.js";
import { useQuery } from "../query.js";
import type { Series, Variable } from "./document.js";
import { TargetInput } from "./TargetInput.js";
import { resolveTarget } from "./targets.js";

interface SeriesFormProps {
  readonly series: readonly Series[];
  readonly variables: readonly Variable[];
  readonly hasAxes: boolean;
  onSeries(series: readonly Series[]): void;
}

const [seriesMax, colors] = [20, 8];

export function SeriesForm({ series, variables, hasAxes, onSeries }: SeriesFormProps) {
  const change = (i: number, next: Series): void => onSeries(series.map((one, k) => (k === i ? next : one)));
  return (
    <div class="form series-form">
      {series.map((one, i) => (
        <fieldset key={i} class="form">
          <legend class="row spread">
            <span class="muted">{t("board.series", { number: i + 1 })}</span>
            <button
              type="button"
              class="button quiet"
              onClick={() => onSeries(series.filter((_, k) => k !== i))}
            >
              {t("action.delete")}
            </button>
          </legend>
          <TargetInput
            name={t("explore.device")}
            type="device"
            variableTypes={["device", "group"]}
            value={one.deviceID}
            variables={variables}
            onValue={(deviceID) => change(i, { ...one, deviceID })}
          />
          <MeasuredInput series={one} variables={variables} onSeries={(next) => change(i, next)} />
          <div class="fields">
            <label class="field">
              <span class="name">{t("board.label")}</span>
              <input
                class="input"
                maxLength={255}
                value={one.label ?? ""}
                onInput={(event) => {
                  const { label: _, ...rest } = one;
                  const label = event.currentTarget.value;
                  change(i, label === "" ? rest : { ...rest, label });
                }}
              />
            </label>
            <label class="field">
              <span class="name">{t("board.color")}</span>
              <select
                class="input"
                value={one.color ?? ""}
                onChange={(event) => {
                  const { color: _, ...rest } = one;
                  const text = event.currentTarget.value;
                  change(i, text === "" ? rest : { ...rest, color: Number(text) });
                }}
              >
                <option value="">{t("board.byItself")}</option>
                {Array.from({ length: colors }, (_, color) => (
                  <option key={color} value={color}>
                    {t(`color.${color as 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7}`)}
                  </option>
                ))}
              </select>
            </label>
            {hasAxes && (
              <label class="field">
                <span class="name">{t("board.axis")}</span>
                <select
                  class="input"
                  value={one.axis ?? "left"}
                  onChange={(event) => {
                    const { axis: _, ...rest } = one;
                    change(i, event.currentTarget.value === "right" ? { ...rest, axis: "right" } : rest);
                  }}
                >
                  <option value="left">{t("board.left")}</option>
                  <option value="right">{t("board.right")}</option>
                </select>
              </label>
            )}
          </div>
        </fieldset>
      ))}
      {series.length < seriesMax && (
        <button
          type="button"
          class="button"
          onClick={() => {
            const like = series.at(-1);
            onSeries([...series, { deviceID: like?.deviceID ?? "" }]);
          }}
        >
          {t("board.addSeries")}
        </button>
      )}
    </div>
  );
}

interface Measured {
  readonly points: readonly {
    readonly id: number;
    readonly dataPointName: string;
    readonly unitSymbol: string | null;
  }[];
  readonly metrics: readonly { readonly id: number; readonly metricName: string }[];
}

const none: Measured = { points: [], metrics: [] };
const measuredMax = 1000;

/** What a device, or a group, measures: by its product. */
function useMeasured(deviceID: string, variables: readonly Variable[]) {
  const target = resolveTarget(deviceID, "device", variables, {});
  return useQuery(`measured ${JSON.stringify(target)}`, async (signal): Promise<Measured> => {
    if (target === null) return none;
    const find = async (path: string, field: string): Promise<string | undefined> => {
      const query = { [field]: target.id, _limit: 1 };
      const { items } = await call<Page<{ readonly productID: string }>>("GET", path, { query, signal });
      return items[0]?.productID;
    };
    // A gateway has points of its own.
    const productID =
      target.type === "group"
        ? await find("/groups", "groupID")
        : ((await find("/devices", "deviceID")) ?? (await find("/gateways", "deviceID")));
    if (productID === undefined) return none;
    const query = { productID, _limit: measuredMax };
    const [points, metrics] = await Promise.all([
      call<Page<Measured["points"][number]>>("GET", "/data_points", { query, signal }),
      call<Page<Measured["metrics"][number]>>("GET", "/metrics", { query, signal }),
    ]);
    return { points: points.items, metrics: metrics.items };
  });
}

interface MeasuredInputProps {
  readonly series: Series;
  readonly variables: readonly Variable[];
  onSeries(series: Series): void;
}

function MeasuredInput({ series, variables, onSeries }: MeasuredInputProps) {
  const { points, metrics } = useMeasured(series.deviceID, variables).data ?? none;
  const { dataPointIntID, metricIntID, ...rest } = series;
  const value =
    metricIntID !== undefined ? `m${metricIntID}` : dataPointIntID !== undefined ? `p${dataPointIntID}` : "";
  const isKnown = [...points.map(({ id }) => `p${id}`), ...metrics.map(({ id }) => `m${id}`)].includes(value);
  return (
    <label class="field">
      <span class="name">{t("board.measured")}</span>
      <select
        class="input"
        value={value}
        onChange={(event) => {
          const [kind, id] = [event.currentTarget.value[0], Number(event.currentTarget.value.slice(1))];
          onSeries({ ...rest, ...(kind === "m" ? { metricIntID: id } : { dataPointIntID: id }) });
        }}
      >
        {!isKnown && <option value={value}>{value === "" ? t("board.choose") : value}</option>}
        <optgroup label={t("title.dataPoints")}>
          {points.map(({ id, dataPointName, unitSymbol }) => (
            <option key={id} value={`p${id}`}>
              {dataPointName} {unitSymbol ?? ""}
            </option>
          ))}
        </optgroup>
        <optgroup label={t("title.metrics")}>
          {metrics.map(({ id, metricName }) => (
            <option key={id} value={`m${id}`}>
              {metricName}
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  );
}
