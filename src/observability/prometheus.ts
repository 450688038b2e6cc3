/** Prometheus text format 0.0.4. */

export interface Histogram {
  observe(value: number): void;
  lines(name: string, help: string): string[];
}

export function createHistogram(bounds: readonly number[]): Histogram {
  const counts = bounds.map(() => 0);
  let sum = 0;
  let count = 0;
  return {
    observe: (value) => {
      const at = bounds.findIndex((bound) => value <= bound);
      if (at >= 0) counts[at] = (counts[at] ?? 0) + 1;
      sum += value;
      count++;
    },
    lines: (name, help) => {
      let below = 0;
      const buckets = bounds.map((bound, i) => {
        below += counts[i] ?? 0;
        return `${name}_bucket{le="${bound}"} ${below}`;
      });
      return [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} histogram`,
        ...buckets,
        `${name}_bucket{le="+Inf"} ${count}`,
        `${name}_sum ${sum}`,
        `${name}_count ${count}`,
      ];
    },
  };
}

export type Labels = Readonly<Record<string, string>>;

/** One metric with its samples. */
export function samples(
  type: "counter" | "gauge" | "summary",
  name: string,
  help: string,
  values: Iterable<readonly [Labels, number]>,
): string[] {
  const lines = [...values].map(([labels, value]) => `${name}${labelText(labels)} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

function labelText(labels: Labels): string {
  const entries = Object.entries(labels);
  if (entries.length === 0) return "";
  const quoted = (value: string) =>
    value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
  return `{${entries.map(([key, value]) => `${key}="${quoted(value)}"`).join(",")}}`;
}
