/** When a rule that is not saved would have raised its alert: on the line of its value, counted, and as a list. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api.js";
import type { OriginalData } from "../charts/data.js";
import type { Limit, Span } from "../charts/decorations.js";
import { Chart } from "../charts/LazyChart.js";
import type { Line } from "../charts/lines.js";
import { numberText } from "../charts/numbers.js";
import { offsetText, wallText } from "../charts/zone.js";
import { useDebounced } from "../debounced.js";
import type { FormulaScope } from "../formula/names.js";
import { PreviewRange, usePreviewDevice } from "../formula/PreviewRange.js";
import { t } from "../i18n.js";
import { useQuery } from "../query.js";
import { me } from "../session.js";
import { Scroll } from "../shell/Scroll.js";
import { parseCondition } from "./conditions.js";

interface BacktestProps {
  /** Null: no data point is chosen yet. */
  readonly scope: FormulaScope | null;
  readonly condition: string;
  /** As they are typed. */
  readonly duration: string;
  readonly severity: string;
  /** What the service says of the fields; empty: nothing. */
  onFaults(faults: Readonly<Record<string, string>>): void;
}

interface AlertSpan {
  readonly startTime: number;
  /** Null: it would still last. */
  readonly endTime: number | null;
  readonly alertTimes: number;
  readonly firstValue: number | null;
}

interface Tested {
  readonly spans: readonly AlertSpan[];
  readonly points: number;
  readonly isTruncated: boolean;
}

const restMs = 300;
const dayMs = 86_400_000;
const maxPoints = 2000;
const height = 220;
const spansShown = 20;
const severe = 2;
const color = 0;

export function Backtest({ scope, condition, duration, severity, onFaults }: BacktestProps) {
  const [device, chooseDevice] = usePreviewDevice(scope?.point.productID ?? null);
  const days = useSignal(7);
  const now = useSignal(Date.now());
  const from = now.value - days.value * dayMs;
  const zone = me.value?.timezone ?? "UTC";
  const range = { deviceID: device, startTime: from, endTime: now.value, timeFormat: "ms" };
  const point = scope?.point;
  const isAskable = point !== undefined && device !== "" && condition.trim() !== "";
  const body = {
    ...range,
    dataPointIntID: point?.id,
    condition,
    ...(duration === "" ? {} : { duration: Number(duration) }),
  };
  const key = useDebounced(isAskable ? JSON.stringify(body) : "", restMs);
  const tested = useQuery(key, async (signal) => {
    if (key === "") return null;
    const sent = JSON.parse(key) as typeof body;
    const answer = await call<Tested>("POST", "/alert_rules/preview", { body: sent, signal });
    return { ...answer, days: Math.round((sent.endTime - sent.startTime) / dayMs) };
  });
  const values = useQuery(`${point?.id} ${JSON.stringify(range)}`, async (signal) =>
    point === undefined || device === ""
      ? null
      : selectValues(
          point.id,
          await call("GET", "/original_data", {
            query: { ...range, maxPoints, dataPointIntID: point.id },
            signal,
          }),
        ),
  );
  const faults = key === "" ? undefined : tested.failure?.fields;
  useEffect(() => onFaults(faults ?? {}), [JSON.stringify(faults ?? {})]);

  if (scope === null || point === undefined) return <p class="notice">{t("preview.choosePoint")}</p>;
  const { data, failure, isLoading } = tested;
  const spans = data?.spans ?? [];
  return (
    <section class="preview" aria-label={t("rule.backtest")}>
      <div class="row">
        <PreviewRange
          productID={point.productID}
          device={device}
          days={days.value}
          onDevice={chooseDevice}
          onDays={(chosen) => {
            days.value = chosen;
            now.value = Date.now();
          }}
        />
      </div>
      {device === "" && <p class="notice">{t("preview.noDevice")}</p>}
      {failure !== null && Object.keys(failure.fields).length === 0 && (
        <p class="notice warn" role="alert">
          {failure.status === 0 ? t("state.away") : failure.message}
        </p>
      )}
      <div class={failure === null ? "" : "stale"} aria-busy={isLoading}>
        {data != null && (
          <p role="status">
            <strong>{t(countText(data), { count: spans.length, days: data.days })}</strong>{" "}
            <span class="muted">{t("rule.looked", { points: data.points })}</span>
            {data.isTruncated && <span class="status warn">{t("rule.truncated")}</span>}
          </p>
        )}
        {values.data != null && values.data.times.length > 0 ? (
          <Chart
            lines={[{ name: point.dataPointName, unit: point.unitSymbol, color, ...values.data }]}
            zone={zone}
            from={from}
            to={now.value}
            height={height}
            spans={spans.map((span) => createBand(span, severity, zone))}
            limits={parseLimits(condition)}
            onRange={() => undefined}
          />
        ) : (
          values.data != null && <p class="notice">{t("preview.noPoints")}</p>
        )}
        {spans.length > 0 && <Spans spans={spans} zone={zone} />}
      </div>
    </section>
  );
}

const countText = ({ spans, isTruncated }: Tested) =>
  isTruncated ? "rule.countMore" : spans.length === 1 ? "rule.countOne" : "rule.count";

function selectValues(id: number, items: readonly OriginalData[]): Pick<Line, "times" | "values"> {
  const { time = [], value = [] } = items.find((one) => one.dataPointIntID === id)?.originalData ?? {};
  return { times: time, values: value.map((one) => (one === null ? null : Number(one))) };
}

/** From when to when the alert would have lasted. */
function createBand({ startTime, endTime }: AlertSpan, severity: string, zone: string): Span {
  const until = endTime === null ? t("rule.lasts") : wallText(zone, endTime);
  return {
    from: startTime,
    to: endTime,
    tone: severity === "" || Number(severity) <= severe ? "bad" : "warn",
    word: t("rule.lasted"),
    text: `${t("rule.lasted")}: ${wallText(zone, startTime)} – ${until}`,
  };
}

/** The numbers that the value itself is compared with. */
function parseLimits(condition: string): Limit[] {
  return (parseCondition(condition)?.parts ?? []).flatMap(({ name, operator, value }) =>
    name === "dataPoint" && value !== "" && Number.isFinite(Number(value))
      ? [{ value: Number(value), color, text: `${operator} ${value}` }]
      : [],
  );
}

function Spans({ spans, zone }: { readonly spans: readonly AlertSpan[]; readonly zone: string }) {
  const shown = spans.slice(-spansShown).reverse();
  return (
    <Scroll name={t("rule.backtest")}>
      <table class="table numbers">
        <thead>
          <tr>
            <th scope="col">{`${t("rule.from")} (${zone} ${offsetText(zone, spans.at(-1)?.startTime ?? 0)})`}</th>
            <th scope="col">{t("rule.until")}</th>
            <th scope="col">{t("rule.times")}</th>
            <th scope="col">{t("rule.firstValue")}</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ startTime, endTime, alertTimes, firstValue }) => (
            <tr key={startTime}>
              <th scope="row" class="mono">
                {wallText(zone, startTime)}
              </th>
              <td class="mono">{endTime === null ? t("rule.lasts") : wallText(zone, endTime)}</td>
              <td>{alertTimes}</td>
              <td>{numberText(firstValue)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {spans.length > shown.length && (
        <p class="muted hint">{t("rule.newest", { shown: shown.length, count: spans.length })}</p>
      )}
    </Scroll>
  );
}
