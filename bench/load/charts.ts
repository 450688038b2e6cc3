import type { Tidemark } from "../subjects/tidemark.js";
import type { FleetOfDevices } from "./fleet.js";
import { yearBefore } from "./history.js";

/** A query of a chart that no engine answers by itself. */
export interface ChartQuestion {
  readonly name: string;
  /** Rejects when the answer cannot be right. */
  ask(): Promise<void>;
}

const maxPoints = 2_000;
/** Panels of a board: each begins a day later than the one before. */
const panels = 20;
const monthDays = 30;
const dayMs = 86_400_000;
/** Besides the mean: a panel shows them all. */
const otherAggregates = [1, 2, 4];

/** Over the year of one-minute points: thinned to a line, a formula's means of its days, and a board of months. */
export async function chartQuestions(service: Tidemark, fleet: FleetOfDevices): Promise<ChartQuestion[]> {
  const { startMs, stopMs } = yearBefore(new Date());
  const api = service.api();
  const metric = await api.post<{ id: number }>("/api/v1/metrics", {
    metricName: "fahrenheit",
    metricType: 2,
    dataPointIntID: fleet.dataPointIntIDs[0],
    aggregateType: 3,
    aggregateData: 1,
    expressions: "dataPoint * 9 / 5 + 32",
  });
  const series = fleet.metricIntIDs.slice(0, 1);
  for (const aggregateType of otherAggregates) {
    const of = { metricType: 2, dataPointIntID: fleet.dataPointIntIDs[0], aggregateType };
    series.push(
      (await api.post<{ id: number }>("/api/v1/metrics", { metricName: `of ${aggregateType}`, ...of })).id,
    );
  }
  const range = { startTime: String(startMs), endTime: String(stopMs), timezone: "UTC" };
  const device = { deviceID: fleet.devices[0]?.deviceID ?? "", ...range };
  const ask = (path: string, query: Record<string, string>) =>
    api.get<{ [data: string]: { value: unknown[] } }[]>(`/api/v1/${path}?${new URLSearchParams(query)}`);
  const days = Math.round((stopMs - startMs) / dayMs);

  return [
    {
      name: `the year's line, maxPoints=${maxPoints}`,
      ask: async () => {
        const query = { ...device, maxPoints: String(maxPoints), metricIntID: String(fleet.metricIntIDs[0]) };
        expectLength((await ask("original_data", query))[0]?.originalData, maxPoints);
      },
    },
    {
      name: "days of a year of a formula",
      ask: async () => {
        const query = { ...device, metricIntID: String(metric.id), time_unit: "day" };
        expectLength((await ask("metrics_data", query))[0]?.metricData, days);
      },
    },
    {
      name: `${panels} panels of ${series.length} series each, days of a month`,
      ask: async () => {
        const all = Array.from({ length: panels }, (_, panel) => {
          const from = startMs + panel * dayMs;
          const month = { startTime: String(from), endTime: String(from + monthDays * dayMs) };
          return series.map(async (id) => {
            const query = { ...device, ...month, metricIntID: String(id), time_unit: "day" };
            expectLength((await ask("metrics_data", query))[0]?.metricData, monthDays);
          });
        });
        await Promise.all(all.flat());
      },
    },
  ];
}

function expectLength(data: { value: unknown[] } | undefined, length: number): void {
  if (data?.value.length === length) return;
  throw new Error(`cannot time a chart: ${data?.value.length} values, not ${length}`);
}
