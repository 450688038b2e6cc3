import { type Cell, table } from "./demo-print.js";
import type { Question } from "./demo-questions.js";

interface Columns {
  readonly time: readonly string[];
  readonly value: readonly Cell[];
}

type Item = Readonly<Record<string, unknown>>;

/** The request of a question, as a curl line and as what fetch takes; $KEY stands for the API key. */
export function requestOf(http: string, { path }: Question): { url: string; curl: string } {
  const url = `${http}${path}`;
  return { url, curl: `curl -s -H "Authorization: Bearer $KEY" '${url}'` };
}

/** Asks and lays the answer out as a table. @throws Error with the answer's beginning if it is no success */
export async function ask(http: string, key: string, question: Question): Promise<string> {
  const { url } = requestOf(http, question);
  const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
  const text = await response.text();
  if (!response.ok) throw new Error(`cannot ask ${url}: ${response.status} ${text.slice(0, 300)}`);
  return layouts[question.shape](JSON.parse(text));
}

const layouts: Readonly<Record<Question["shape"], (answer: unknown) => string>> = {
  metrics: (answer) => sideBySide(answer as Item[], "metricName", "metricData"),
  original: (answer) => sideBySide(answer as Item[], "dataPointName", "originalData"),
  alerts: (answer) => {
    const { items, meta } = answer as { items: Item[]; meta: { count: number } };
    const columns = ["alertName", "startTime", "endTime", "alertTimes"];
    const rows = items.map((item) => columns.map((column) => item[column] as Cell));
    return `${table(columns, rows)}\n  of ${meta.count}`;
  },
  events: (answer) => {
    const { items } = answer as { items: Item[] };
    return table(
      ["id", "topic", "payload"],
      items.map(({ id, topic, payload }) => [id, topic, payload].map((cell) => cell as Cell)),
    );
  },
};

/** The series of an answer beside each other; they share their times. */
function sideBySide(items: readonly Item[], name: string, data: string): string {
  const columns = items.map((item) => item[data] as Columns);
  const rows = (columns[0]?.time ?? []).map((time, i) => [
    time,
    ...columns.map(({ value }) => value[i] ?? null),
  ]);
  return table(["time", ...items.map((item) => String(item[name]))], rows);
}
