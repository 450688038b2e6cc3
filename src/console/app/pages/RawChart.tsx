/** The points of a device over a range, as many as the screen can show separately. */
import { asCurl, call } from "../api.js";
import { createColors } from "../charts/colors.js";
import { type OriginalData, pointsOnScreen } from "../charts/data.js";
import { drawnValues } from "../charts/drawn-values.js";
import { Chart } from "../charts/LazyChart.js";
import type { Line } from "../charts/lines.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { CopyButton } from "../shell/CopyButton.js";

interface NamedData extends OriginalData {
  readonly dataPointName: string;
}

interface MetricData {
  readonly id: number;
  readonly metricName: string;
  readonly metricData: { readonly time: readonly number[]; readonly value: readonly (number | null)[] };
}

interface RawChartProps {
  /** A deviceID. */
  readonly device: string;
  /** Units by data point: lines of one unit share a chart. Absent: all lines are in one. */
  readonly units?: ReadonlyMap<number, string | null>;
  /** The window over which metrics are computed; `real`, the default: points themselves. */
  readonly unit?: string;
  readonly zone: string;
  readonly from: number;
  readonly to: number;
  onRange(from: number, to: number): void;
}

const height = 360;
const heightMin = 170;

export function RawChart({ device, unit = "real", units, zone, from, to, onRange }: RawChartProps) {
  const range = { deviceID: device, startTime: Math.floor(from), endTime: Math.ceil(to), timeFormat: "ms" };
  const isRaw = unit === "real";
  const path = isRaw ? "/original_data" : "/metrics_data";
  const query = isRaw
    ? { ...range, maxPoints: pointsOnScreen() }
    : { ...range, time_unit: unit, timezone: zone };
  const asked = useQuery(`${path} ${JSON.stringify(query)}`, (signal) =>
    call<readonly (NamedData | MetricData)[]>("GET", path, { query, signal }),
  );
  return (
    <QueryResult asked={asked}>
      {(items) => {
        const lines = createRawLines(items, units);
        if (lines.length === 0) return <p class="notice">{t("explore.noPoints")}</p>;
        return (
          <>
            {byUnit(lines).map((group, _, { length }) => (
              <Chart
                key={group[0]?.unit}
                lines={group}
                zone={zone}
                from={from}
                to={to}
                height={Math.max(heightMin, height / length)}
                onRange={onRange}
              />
            ))}
            <p class="row">
              <CopyButton text={asCurl("GET", path, query)}>{t("action.curl")}</CopyButton>
            </p>
          </>
        );
      }}
    </QueryResult>
  );
}

/** What can be drawn of an answer: texts are no line. */
function createRawLines(
  items: readonly (NamedData | MetricData)[],
  units: ReadonlyMap<number, string | null> | undefined,
): Line[] {
  const colors = new Map<string | null, ReturnType<typeof createColors>>();
  return items.flatMap((item) => {
    const [name, { time, value }] =
      "originalData" in item ? [item.dataPointName, item.originalData] : [item.metricName, item.metricData];
    if (
      time.length === 0 ||
      value.some((one) => typeof one === "string" || (typeof one === "object" && one !== null))
    )
      return [];
    const unit = ("originalData" in item ? units?.get(item.dataPointIntID) : null) ?? null;
    const pickColor = colors.get(unit) ?? createColors();
    colors.set(unit, pickColor);
    const color = pickColor("originalData" in item ? item.dataPointIntID : item.id);
    return [
      { name, unit, color, times: time, ...drawnValues(value as readonly (number | boolean | null)[]) },
    ];
  });
}

function byUnit(lines: readonly Line[]): Line[][] {
  const groups = new Map<string | null, Line[]>();
  for (const line of lines) {
    const group = groups.get(line.unit);
    if (group === undefined) groups.set(line.unit, [line]);
    else group.push(line);
  }
  return [...groups.values()];
}
