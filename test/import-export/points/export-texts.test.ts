/** Long texts side by side: what an export's thread is given fits into it, for V8 ends the process where it does not. */
import type { ExportPlan } from "../../../src/import-export/points/export-messages.js";
import { openExport } from "../../../src/import-export/points/export-stream.js";
import type { HistoryLayout } from "../../../src/import-export/points/limits.js";
import { StoreError } from "../../../store/lib/errors.js";
import type { Columns, SeriesRef } from "../../../store/series/series.js";
import { assert, rejects, suite } from "../../suite.js";

const times = 3;
/** The longest text of a point. */
const textBytesMax = 65_535;

/** Series of one device, each with a text of the longest kind at the same three times. */
async function exportOf(
  series: number,
  format: ExportPlan["format"],
  layout: HistoryLayout,
  char: string,
): Promise<number> {
  const text = char.repeat(textBytesMax / Buffer.byteLength(char));
  async function* scan(): AsyncGenerator<Columns> {
    for (let n = 1; n <= times; n++) yield { kind: "text", times: Float64Array.of(n), values: [text] };
  }
  const numbers = Array.from({ length: series }, (_, i) => i);
  const points = numbers.map((i) => ({ dataPointID: `p${i}`, form: "text" as const, series: i }));
  const plan = { format, layout, times: "utc" as const, gzip: false, devices: [{ deviceID: "d", points }] };
  const refs = numbers.map((i): SeriesRef => ({ device: 1, point: i, type: "text" }) as unknown as SeriesRef);
  const stream = await openExport({ scan }, { plan, series: refs, range: {}, closed: () => undefined });
  let bytes = 0;
  for await (const chunk of stream) bytes += chunk.length;
  return bytes;
}

suite("exports of long texts", (test) => {
  test("a row that does not fit into the thread is refused with what mends it, and as long rows it comes", async () => {
    for (const [series, format, char] of [
      [700, "csv", "x"],
      [2000, "csv", "x"],
      [1000, "ndjson", "\u0001"],
      [400, "ndjson", "设"],
    ] as const) {
      const error = await rejects(() => exportOf(series, format, "wide", char), /layout must be long/);
      assert.instance(error, StoreError);
      assert.is((error as StoreError).code, "INVALID");
    }
    const bytes = await exportOf(700, "csv", "long", "x");
    assert.ok(bytes > 700 * times * textBytesMax, `${bytes}`);
  });

  test("the largest rows that are written fit, also where a character takes six", async () => {
    for (const [series, format, char, sizeEach] of [
      [120, "csv", "x", 1],
      [120, "ndjson", "\u0001", 6],
      [240, "ndjson", "设", 1],
    ] as const) {
      const bytes = await exportOf(series, format, "wide", char);
      assert.ok(bytes > series * times * (textBytesMax - 3) * sizeEach, `${bytes}`);
    }
  });
});
