import type { BenchOptions } from "./options.js";
import type { Figure } from "./report.js";
import { type Contender, compareAll } from "./rounds.js";
import { openLoadedTidemark } from "./subjects.js";

const shape = { name: "50x50", connections: 50, inflight: 50 };
const rulesCount = 10;

/** What alert rules cost on the way up: the same load on a product without any and on one with ten. */
export async function benchWatch(options: BenchOptions): Promise<Figure[]> {
  const plain = "stored, no rules";
  return compareAll(
    [
      () => contender(options, plain, null),
      () => contender(options, `stored, ${rulesCount} rules that never hold`, plain, "dataPoint > 1e6 + "),
      () => contender(options, `stored, ${rulesCount} rules that always hold`, plain, "dataPoint > -1e6 - "),
    ],
    options.rounds,
  );
}

async function contender(
  { dir, seconds }: BenchOptions,
  name: string,
  baseline: string | null,
  condition?: string,
): Promise<Contender> {
  const tidemark = await openLoadedTidemark({ dir }, shape);
  const { fleet, service } = tidemark;
  for (let i = 0; condition !== undefined && i < rulesCount; i++) {
    await service.api().post("/api/v1/alert_rules", {
      alertName: `rule ${i}`,
      dataPointIntID: fleet.dataPointIntIDs[i % fleet.dataPointIntIDs.length],
      condition: `${condition}${i}`,
    });
  }
  return {
    run: async () => {
      const { load, cpu, storedRate } = await tidemark.measure({ seconds });
      const detail = {
        "cpu µs/msg": (cpu * 1e6) / Math.max(1, load.acked),
        "acked/s": load.rate,
        "p99 ms": load.p99,
      };
      return [
        { name, value: storedRate, unit: "messages/s", ...(baseline === null ? {} : { baseline }), detail },
      ];
    },
    close: tidemark.close,
  };
}
