/** Newest values of a page: whatever the series store does, the page goes on without it. */
import { createFleetValues } from "../../src/devices/fleet-values.js";
import { StoreError } from "../../store/lib/errors.js";
import type { FleetRow } from "../../store/metadata/fleet/rows.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import type { SeriesReader } from "../../store/series/series.js";
import { assert, rejects, suite, until } from "../suite.js";

const rows = (n: number): FleetRow[] =>
  Array.from({ length: n }, (_, i) => ({ id: i + 1, productIntID: 1 }) as unknown as FleetRow);
const point = (id: number, fields: object = {}) =>
  ({ id, field: `f${id}`, pointDataType: 1, dataTransType: 1, ...fields }) as DataPoint;
const here = new AbortController().signal;

type Latest = SeriesReader["latest"];

function reader(latest: Latest, points: readonly DataPoint[], waitMs?: number) {
  const series = { under: () => ({ latest }) as unknown as SeriesReader };
  const catalog = { model: async () => ({ points, metrics: [] }) };
  const refs = { of: (_: unknown, { field }: { field: string }) => field };
  return createFleetValues({ catalog, series, refs: refs as never }, waitMs);
}

const answering: Latest = async (series) => series.map(() => ({ time: 5_000_000, value: 21.5 }));

suite("newest values of the fleet", (test) => {
  test("the first five points that devices report, by id; what cannot be read is left out", async () => {
    const points = [1, 2, 3, 4, 5, 6, 7].map((id) => point(id, id === 2 ? { dataTransType: 2 } : {}));
    const latest: Latest = async (series) =>
      series.map((_, i) => {
        if (i === 1) return null;
        if (i === 2) return { error: new StoreError("CORRUPT", "damaged") };
        return { time: 5_000_000, value: i };
      });
    const { of, lack } = await reader(latest, points).read(1, rows(1), here);
    assert.is(lack, null);
    assert.equal(
      of.get(1)?.map(({ point: { id }, value }) => [id, value]),
      [
        [1, 0],
        [5, 3],
        [6, 4],
      ],
    );
  });

  test("a text is cut, never in half a character", async () => {
    const long = `${"x".repeat(255)}🦉${"x".repeat(65_000)}`;
    const latest: Latest = async (series) => series.map(() => ({ time: 0, value: long }));
    const { of } = await reader(latest, [point(1, { pointDataType: 3 })]).read(1, rows(1), here);
    assert.is(of.get(1)?.[0]?.value, `${"x".repeat(255)}\ufffd`);
  });

  test("a store that is away, or hangs, leaves the page without values; what came before is shown", async () => {
    const away: Latest = () => Promise.reject(new StoreError("UNAVAILABLE", "away"));
    assert.equal((await reader(away, [point(1)]).read(1, rows(50), here)).lack, "unavailable");
    const hanging: Latest = () => new Promise(() => undefined);
    assert.equal((await reader(hanging, [point(1)], 20).read(1, rows(50), here)).lack, "unavailable");
    let asked = 0;
    const halting: Latest = (series) => (++asked === 2 ? away(series) : answering(series));
    const { of, lack } = await reader(halting, [point(1)]).read(1, rows(50), here);
    assert.equal([of.size, lack, asked], [20, "partial", 2]);
  });

  test("anything else that fails is no matter of waiting", async () => {
    const broken: Latest = () => Promise.reject(new Error("a fault"));
    await rejects(() => reader(broken, [point(1)]).read(1, rows(1), here), /a fault/);
  });

  test("pages that wait are bounded; one tenant leaves a place to others", async () => {
    let waiting = 0;
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: Latest = async (series) => {
      waiting++;
      await released;
      return answering(series);
    };
    const { read } = reader(slow, [point(1)], 60_000);
    const pages = Array.from({ length: 20 }, () => read(1, rows(1), here));
    const other = read(2, rows(1), here);
    await until(() => waiting === 8, { what: "the pages to ask" });
    release();
    const lacking = (await Promise.all(pages)).filter(({ lack }) => lack === "unavailable");
    assert.equal([lacking.length, (await other).lack], [13, null]);
    assert.is((await read(1, rows(1), here)).lack, null);
  });
});
