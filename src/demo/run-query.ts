import type { DemoClient } from "./client.js";
import type { DemoQuery } from "./demo-queries.js";
import { type PrintedCell, table } from "./print.js";

interface Columns {
  readonly time: readonly string[];
  readonly value: readonly PrintedCell[];
}

type Item = Readonly<Record<string, unknown>>;

/** The request of a query as a curl line; $KEY stands for the API key. */
export function formatCurl(http: string, { path }: DemoQuery): string {
  return `curl -s -H "Authorization: Bearer $KEY" '${http}${path}'`;
}

/** Asks, and lays the answer out as a table. */
export async function runQuery(client: DemoClient, query: DemoQuery): Promise<string> {
  return layouts[query.shape](await client.get(query.path));
}

const layouts: Readonly<Record<DemoQuery["shape"], (answer: unknown) => string>> = {
  metrics: (answer) => sideBySide(answer as Item[], "metricName", "metricData"),
  original: (answer) => sideBySide(answer as Item[], "dataPointName", "originalData"),
  alerts: (answer) => {
    const { items, meta } = answer as { items: Item[]; meta: { count: number } };
    const columns = ["alertName", "startTime", "endTime", "alertTimes"];
    const rows = items.map((item) => columns.map((column) => item[column] as PrintedCell));
    return `${table(columns, rows)}\n  of ${meta.count}`;
  },
  events: (answer) => {
    const { items } = answer as { items: Item[] };
    return table(
      ["id", "topic", "payload"],
      items.map(({ id, topic, payload }) => [id, topic, payload].map((cell) => cell as PrintedCell)),
    );
  },
};

/** The series of an answer side by side; they share their times. */
function sideBySide(items: readonly Item[], name: string, data: string): string {
  const columns = items.map((item) => item[data] as Columns);
  const rows = (columns[0]?.time ?? []).map((time, i) => [
    time,
    ...columns.map(({ value }) => value[i] ?? null),
  ]);
  return table(["time", ...items.map((item) => String(item[name]))], rows);
}
