/** Where panels of a dashboard stand, and what two versions of one differ in. */
import fc from "fast-check";
import { createColors } from "../../src/console/app/charts/colors.js";
import { valueAt } from "../../src/console/app/charts/lines.js";
import { differences } from "../../src/console/app/dashboards/differences.js";
import {
  emptyDocument,
  freePanelID,
  newPanel,
  type Panel,
} from "../../src/console/app/dashboards/document.js";
import {
  type Box,
  bounded,
  columns,
  compacted,
  freePlace,
  phoneOrder,
  placed,
} from "../../src/console/app/dashboards/layout.js";
import { dueAt, listWatched } from "../../src/console/app/dashboards/news.js";
import { prepareCommand } from "../../src/console/app/dashboards/panel-command.js";
import { createTable, formatTableCsv } from "../../src/console/app/dashboards/panel-table.js";
import { begun, readNewestStep, stepped, unstepped } from "../../src/console/app/dashboards/steps.js";
import { filledIn, resolveTarget } from "../../src/console/app/dashboards/targets.js";
import { createQueue, inParallel } from "../../src/console/app/in-parallel.js";
import { assert, rejects, suite } from "../suite.js";

interface Placed {
  readonly id: string;
  readonly layout: Box;
}

/** Cells of the grid that panels cover, each as often as it is covered: an oracle without any geometry. */
function coverOf(panels: readonly Placed[]): Map<string, number> {
  const cells = new Map<string, number>();
  for (const { layout } of panels) {
    for (let x = layout.x; x < layout.x + layout.w; x++) {
      for (let y = layout.y; y < layout.y + layout.h; y++) {
        cells.set(`${x} ${y}`, (cells.get(`${x} ${y}`) ?? 0) + 1);
      }
    }
  }
  return cells;
}

const isClean = (panels: readonly Placed[]): boolean => {
  const cells = coverOf(panels);
  const within = panels.every(
    ({ layout: { x, y, w, h } }) => x >= 0 && y >= 0 && w > 0 && h > 0 && x + w <= columns,
  );
  return within && [...cells.values()].every((times) => times === 1);
};

/** No panel could stand a row higher. */
const isTight = (panels: readonly Placed[]): boolean => {
  const cells = coverOf(panels);
  return panels.every(({ layout: { x, y, w } }) => {
    if (y === 0) return true;
    return Array.from({ length: w }, (_, i) => `${x + i} ${y - 1}`).some((cell) => cells.has(cell));
  });
};

const box = fc
  .record({
    x: fc.nat(11),
    y: fc.nat(30),
    w: fc.integer({ min: 1, max: 12 }),
    h: fc.integer({ min: 1, max: 8 }),
  })
  .map(bounded);
const boxes = fc
  .array(box, { minLength: 1, maxLength: 12 })
  .map((all): Placed[] => all.map((layout, i) => ({ id: `p${i}`, layout })));

suite("console: the grid of a dashboard", (test) => {
  test("a panel goes where it is put, covers none, and leaves no air", () => {
    fc.assert(
      fc.property(boxes, box, fc.nat(), (panels, to, which) => {
        const settled: Placed[] = [];
        for (const { id, layout } of panels) {
          settled.push({ id, layout: freePlace(settled, [layout.w, layout.h]) });
        }
        assert.ok(isClean(settled), "found places");
        const { id } = settled[which % settled.length] as Placed;
        const moved = placed(settled, id, to);
        assert.ok(isClean(moved), JSON.stringify(moved));
        assert.ok(isTight(moved), JSON.stringify(moved));
        const own = moved.find((panel) => panel.id === id)?.layout;
        assert.equal([own?.x, own?.w, own?.h], [to.x, to.w, to.h]);
        assert.ok((own?.y ?? 0) <= to.y);
        assert.equal(
          moved.map((panel) => panel.id),
          settled.map((panel) => panel.id),
        );
        assert.equal(compacted(moved), moved);
      }),
      { numRuns: 300 },
    );
  });

  test("sizes and places beyond the grid are cut to it", () => {
    assert.equal(bounded({ x: -3, y: -1, w: 40, h: 0 }), { x: 0, y: 0, w: 12, h: 1 });
    assert.equal(bounded({ x: 11.6, y: 2.4, w: 3.2, h: 500 }), { x: 9, y: 2, w: 3, h: 100 });
  });

  test("phones have an order of their own, or that in which one reads", () => {
    const panel = (id: string, x: number, y: number, order?: number) => ({
      id,
      layout: { x, y, w: 3, h: 2 },
      ...(order === undefined ? {} : { phone: { order, h: 2 } }),
    });
    const panels = [panel("c", 0, 2), panel("b", 3, 0), panel("a", 0, 0)];
    assert.equal(
      phoneOrder(panels).map(({ id }) => id),
      ["a", "b", "c"],
    );
    assert.equal(
      phoneOrder([...panels, panel("d", 0, 9, 0)]).map(({ id }) => id),
      ["a", "d", "b", "c"],
    );
  });

  test("versions differ in panels and in the dashboard itself", () => {
    const chart = newPanel("chart", "a", { x: 0, y: 0, w: 6, h: 4 });
    const text = newPanel("text", "b", { x: 6, y: 0, w: 6, h: 4 });
    const version = (name: string, panels: readonly Panel[]) => ({
      name,
      description: null,
      document: { ...emptyDocument, panels },
    });
    assert.equal(differences(version("x", [chart]), version("x", [chart])), []);
    assert.equal(
      differences(version("x", [chart, text]), version("y", [{ ...chart, title: "T", layout: text.layout }])),
      [
        { kind: "changed", panel: null, fields: ["name"] },
        { kind: "changed", panel: "T", fields: ["title", "layout"] },
        { kind: "removed", panel: "b", fields: [] },
      ],
    );
    assert.is(freePanelID([newPanel("text", "panel-2", text.layout)]), "panel-3");
  });

  test("variables stand for records and in texts; what is none stays as it is", () => {
    const variables = [{ name: "house", label: "", type: "group", value: "g-1" }] as const;
    assert.equal(resolveTarget("$house", "device", variables, {}), { type: "group", id: "g-1" });
    assert.equal(resolveTarget("$house", "device", variables, { house: "g-2" }), {
      type: "group",
      id: "g-2",
    });
    assert.is(resolveTarget("$house", "device", variables, { house: "" }), null);
    assert.is(resolveTarget("$other", "device", variables, {}), null);
    assert.is(resolveTarget("", "device", variables, {}), null);
    assert.is(filledIn("of $house, $5 and $other", variables, {}), "of g-1, $5 and $other");
  });

  test("a table has a row a time, and its file keeps what a spreadsheet would run from running", () => {
    const table = createTable([
      { name: "a,b", unit: null, time: [1, 3], value: [1.5, null] },
      { name: "c", unit: "m", time: [2, 3], value: ["=1+1", 'say "x"'] },
    ]);
    assert.equal(
      table.rows.map(({ time, cells }) => [time, ...cells]),
      [
        [1, 1.5, undefined],
        [2, undefined, "=1+1"],
        [3, null, 'say "x"'],
      ],
    );
    assert.is(
      formatTableCsv(table),
      [
        'time,"a,b",c',
        "1970-01-01T00:00:00.001Z,1.5,",
        "1970-01-01T00:00:00.002Z,,'=1+1",
        '1970-01-01T00:00:00.003Z,,"say ""x"""',
        "",
      ].join("\n"),
    );
  });

  test("under the cursor a line has the value at or before that time", () => {
    const ascending = fc.uniqueArray(fc.nat(1000), { minLength: 1 }).map((all) => all.sort((a, b) => a - b));
    fc.assert(
      fc.property(ascending, fc.nat(1000), (times, at) => {
        const line = { times, values: times.map((time) => time * 2) };
        const before = times.filter((time) => time <= at).at(-1);
        const expected = before === undefined || at > (times.at(-1) as number) ? null : before * 2;
        assert.is(valueAt(line, at), expected);
      }),
    );
  });

  test("a data point has one colour in every chart, unless another line has it already", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(10_000), { maxLength: 8 }), fc.subarray([0, 3, 7]), (ids, taken) => {
        const colorOf = createColors(taken);
        const colors = ids.slice(0, 8 - taken.length).map(colorOf);
        assert.is(new Set([...colors, ...taken]).size, colors.length + taken.length);
        const [first] = ids;
        if (first !== undefined && !taken.includes(first % 8) && colors.length > 0)
          assert.is(colors[0], first % 8);
      }),
    );
    const colorOf = createColors();
    assert.equal([3, 11, 4, 8, 9, 10, 13, 14, 3].map(colorOf), [3, 4, 5, 0, 1, 2, 6, 7, 3]);
  });

  test("typing in one field is one step; what changes nothing is none", () => {
    const a = { name: "a", list: [{ x: 1 }] };
    let steps = begun(a);
    assert.is(stepped(steps, { name: "a", list: [{ x: 1 }] }, 0), steps);
    steps = stepped(steps, { ...a, name: "ab" }, 5000);
    steps = stepped(steps, { ...a, name: "abc" }, 5900);
    steps = stepped(steps, { ...a, name: "abcd" }, 6800);
    assert.is(steps.length, 2);
    steps = stepped(steps, { ...a, name: "abcde" }, 7900);
    assert.is(steps.length, 3, "after a pause");
    steps = stepped(steps, { name: "abcde", list: [{ x: 2 }] }, 8000);
    steps = stepped(steps, { name: "abcde", list: [{ x: 2 }, { x: 3 }] }, 8001);
    steps = stepped(steps, { name: "abcde", list: [{ x: 2 }, { x: 3 }, { x: 4 }] }, 8002);
    assert.is(steps.length, 6);
    assert.equal(readNewestStep(unstepped(unstepped(unstepped(steps)))), { ...a, name: "abcde" });
    for (let i = 0; i < 300; i++) steps = stepped(steps, { ...a, name: `${i}` }, 10_000 * (i + 1));
    assert.is(steps.length, 100);
    assert.is(steps[0].content, a);
  });

  test("news concern the panels of a device; groups and devices beyond a hundred are asked for", () => {
    const chart = (id: string, ...devices: readonly string[]): Panel => ({
      ...{ id, type: "chart", title: "", layout: { x: 0, y: 0, w: 1, h: 1 }, unit: "real" },
      series: devices.map((deviceID) => ({ deviceID, dataPointIntID: 1 })),
    });
    const variables = [
      { name: "all", label: "", type: "group", value: "g" },
      { name: "one", label: "", type: "device", value: "b" },
    ] as const;
    const many = Array.from({ length: 99 }, (_, i) => `d${i}`);
    const panels = [chart("p", "a", "$one"), chart("q", "a", "$all"), chart("r", ...many)];
    const {
      devices,
      panelsByKey: panelsOf,
      unwatched,
    } = listWatched({ ...emptyDocument, variables, panels }, {});
    assert.is(devices.length, 100);
    assert.equal(panelsOf.get("a"), ["p", "q"]);
    assert.equal(panelsOf.get("b"), ["p"]);
    assert.equal(unwatched, ["q", "r"]);
    const day = 86_400_000;
    assert.is(dueAt("chart", day, 1000, undefined), 3000);
    assert.is(dueAt("chart", day, 50_000, 10_000), 10_000 + day / 1000);
    assert.is(dueAt("chart", day, 50_000, 49_000, true), 59_000, "what is late is seen wherever it lies");
    assert.is(dueAt("value", day, 10_500, 10_000), 20_000);
    assert.is(dueAt("alerts", 1000, 10_500, 10_000), 12_500);
  });

  test("a value from the address stays a value in what a command sends", () => {
    const variables = [
      { name: "mode", label: "", type: "text", value: "auto" },
      { name: "level", label: "", type: "text", value: "1" },
      { name: "house", label: "", type: "device", value: "gh-1" },
    ] as const;
    const panel = newPanel("command", "c", { x: 0, y: 0, w: 1, h: 1 });
    if (panel.type !== "command") throw new Error("it is none");
    const sent = (payload: string, chosen: Readonly<Record<string, string>>, more: object = {}) =>
      prepareCommand({ ...panel, deviceID: "$house", payload, ...more }, variables, chosen);
    const own = sent('{"mode":"$mode","n":$level}', {});
    assert.equal(own, {
      ...{ path: "/device_publish", to: "gh-1", topic: null, payload: '{"mode":"auto","n":1}' },
      isOfAddress: false,
    });
    const evil = 'x","valve":"open';
    const tried = sent('{"mode":"$mode","n":$level}', { mode: evil });
    assert.equal(JSON.parse(tried?.payload ?? ""), { mode: evil, n: 1 });
    assert.is(tried?.isOfAddress, true);
    assert.is(sent('{"n":$level}', { level: '1,"valve":1' })?.payload, null);
    assert.is(sent('{"n":$level}', { level: "" })?.payload, null);
    assert.is(sent('{"n":$level}', { level: "2" })?.payload, '{"n":2}');
    assert.is(sent("open $mode", { mode: "now" })?.payload, "open now");
    assert.equal(
      [sent("{}", { house: "gh-2" })?.to, sent("{}", { house: "gh-2" })?.isOfAddress],
      ["gh-2", true],
    );
    assert.is(sent("{}", { mode: "x" })?.isOfAddress, false);
    assert.is(sent("{}", { mode: "x" }, { topic: "t/$mode" })?.topic, "t/x");
    assert.is(sent("{}", { house: "" }), null);
  });

  test("questions are asked some at once, and those of a share apart", async () => {
    let [underWay, most] = [0, 0];
    const ask = async (i: number): Promise<number> => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, 1));
      underWay--;
      return i * 2;
    };
    assert.equal(await inParallel([1, 2, 3, 4, 5, 6, 7, 8], 3, ask), [2, 4, 6, 8, 10, 12, 14, 16]);
    assert.is(most, 3);
    most = 0;
    const queue = createQueue(2, 5);
    const { signal } = new AbortController();
    const since = performance.now();
    const answers = await Promise.all([1, 2, 3, 4, 5].map((i) => queue(signal, () => ask(i))));
    assert.equal(answers, [2, 4, 6, 8, 10]);
    assert.ok(most <= 2 && performance.now() - since >= 19, `${most} at once`);
    await rejects(() => queue(AbortSignal.abort(), () => ask(1)));
    assert.is(await queue(signal, () => ask(6)), 12);
  });
});
