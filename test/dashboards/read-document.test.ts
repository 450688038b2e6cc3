import fc from "fast-check";
import { zone } from "../../query/zone.js";
import { readDashboardTime } from "../../src/dashboards/dashboard-time.js";
import { documentBytesMax } from "../../src/dashboards/document.js";
import { readDocument } from "../../src/dashboards/read-document.js";
import { ApiError } from "../../src/http/errors.js";
import { assert, suite, watchTurns } from "../suite.js";
import { documentBody, layout, panelsOf } from "./documents.js";

const now = Date.UTC(2026, 10, 21, 10);
const ids = { deviceID: "gh-1", groupID: "g1", productID: "p1", dataPointIntID: 1, metricIntID: 2 };
const panels = panelsOf(ids);

/** The faults by field; null for a document that is right. */
async function faultsOf(sent: unknown): Promise<Readonly<Record<string, string>> | null> {
  try {
    await readDocument(sent, now);
    return null;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    assert.is(error.errorCode, "PARAMETER_INVALID");
    return error.errors;
  }
}

const withPanel = (fields: object, which = 0) => documentBody([{ ...panels[which], ...fields }]);
const only = async (sent: unknown) => Object.keys((await faultsOf(sent)) ?? {});

suite("documents of dashboards", (test) => {
  test("a panel of every type is taken as it is", async () => {
    const sent = documentBody(panels);
    assert.equal(await readDocument(sent, now), sent);
    assert.equal(
      await readDocument(documentBody([], { variables: [] }), now),
      documentBody([], { variables: [] }),
    );
  });

  test("unknown keys are named by their path, at every depth", async () => {
    const found = [
      [documentBody([], { colour: 1 }), "document.colour"],
      [documentBody([], { range: { start: "-1h", end: "now", tz: 1 } }), "document.range.tz"],
      [withPanel({ colour: 1 }), "document.panels.0.colour"],
      [withPanel({ layout: { ...layout, z: 1 } }), "document.panels.0.layout.z"],
      [withPanel({ series: [{ deviceID: "a", dataPointIntID: 1, x: 1 }] }), "document.panels.0.series.0.x"],
      [withPanel({ __proto__x: 1, constructor: 2 }), "document.panels.0.__proto__x"],
      [
        documentBody([], { variables: [{ name: "a", label: "", type: "text", value: "", q: 1 }] }),
        "document.variables.0.q",
      ],
    ] as const;
    for (const [sent, field] of found) assert.ok((await only(sent)).includes(field), field);
    // What a panel of another type has is unknown too.
    assert.equal(await only(withPanel({ markdown: "x" })), ["document.panels.0.markdown"]);
  });

  test("each wrong field is named", async () => {
    const wrong: readonly (readonly [object, string])[] = [
      [documentBody([], { range: { start: "-1 h", end: "now" } }), "document.range.start"],
      [documentBody([], { range: { start: "now", end: "-1h" } }), "document.range.end"],
      [documentBody([], { range: { start: "2026-13-01 00:00:00", end: "now" } }), "document.range.start"],
      [documentBody([], { timezone: "Mars/Olympus" }), "document.timezone"],
      [documentBody([], { refreshSeconds: 4 }), "document.refreshSeconds"],
      [documentBody([], { refreshSeconds: 3601 }), "document.refreshSeconds"],
      [withPanel({ id: "a b" }), "document.panels.0.id"],
      [withPanel({ title: "x".repeat(201) }), "document.panels.0.title"],
      [withPanel({ layout: { ...layout, x: 12 } }), "document.panels.0.layout.x"],
      [withPanel({ layout: { ...layout, x: 7 } }), "document.panels.0.layout.w"],
      [withPanel({ unit: "second" }), "document.panels.0.unit"],
      [withPanel({ compare: "1d" }), "document.panels.0.compare"],
      [withPanel({ series: [{ deviceID: "a" }] }), "document.panels.0.series.0.dataPointIntID"],
      [
        withPanel({ series: [{ deviceID: "a", dataPointIntID: 1, metricIntID: 1 }] }),
        "document.panels.0.series.0.dataPointIntID",
      ],
      [
        withPanel({ series: [{ deviceID: "a,b", dataPointIntID: 1 }] }),
        "document.panels.0.series.0.deviceID",
      ],
      [
        withPanel({ series: [{ deviceID: "$none", dataPointIntID: 1 }] }),
        "document.panels.0.series.0.deviceID",
      ],
      [
        withPanel({ series: [{ deviceID: "a", dataPointIntID: "1" }] }),
        "document.panels.0.series.0.dataPointIntID",
      ],
      [withPanel({ groupID: "$house" }, 4), "document.panels.0.groupID"],
      [withPanel({ deviceIDs: [] }, 4), "document.panels.0.groupID"],
      [withPanel({ groupID: "g" }, 7), "document.panels.0.deviceID"],
      [withPanel({ markdown: "x".repeat(20_001) }, 8), "document.panels.0.markdown"],
      [withPanel({ type: "gauge" }), "document.panels.0.type"],
      [documentBody([3, null, []].map((one) => one as never)), "document.panels.1"],
      [documentBody([panels[8], panels[8]] as object[]), "document.panels.1.id"],
      [
        documentBody([], {
          variables: [1, 2].map(() => ({ name: "a", label: "", type: "text", value: "" })),
        }),
        "document.variables.1.name",
      ],
      [
        documentBody([], { variables: [{ name: "z", label: "", type: "timezone", value: "no" }] }),
        "document.variables.0.value",
      ],
      [
        documentBody([], { variables: [{ name: "z", label: "", type: "device", value: "$z" }] }),
        "document.variables.0.value",
      ],
      [{}, "document.panels"],
    ];
    for (const [sent, field] of wrong)
      assert.ok((await only(sent)).includes(field), `${field}: ${await only(sent)}`);
    for (const none of [undefined, null, 3, "text", []]) assert.equal(await only(none), ["document"]);
  });

  test("the largest of everything is taken, and one more is refused", async () => {
    const series = Array.from({ length: 20 }, () => ({ deviceID: "d".repeat(64), dataPointIntID: 1 }));
    const many = (n: number, fields: object) =>
      Array.from({ length: n }, (_, i) => ({ ...panels[0], id: `p${i}`, ...fields }));
    assert.is(await faultsOf(documentBody(many(100, { series }))), null);
    assert.equal(await only(documentBody(many(101, { series: [] }))), ["document.panels"]);
    assert.equal(await only(withPanel({ series: [...series, ...series] })), ["document.panels.0.series"]);
    const full = (markdown: string) =>
      documentBody(Array.from({ length: 14 }, (_, i) => ({ ...panels[8], id: `p${i}`, markdown })));
    assert.ok(JSON.stringify(full("x".repeat(18_000))).length < documentBytesMax);
    assert.is(await faultsOf(full("x".repeat(18_000))), null);
    assert.equal(await faultsOf(full("x".repeat(19_000))), { document: "must be at most 256 KiB as JSON" });
    // Bytes, not characters.
    assert.equal(await only(full("€".repeat(10_000))), ["document"]);
  });

  test("a document full of faults, or too deep, costs short turns and names a hundred", async () => {
    const long = (n: number, one: unknown) => Array.from({ length: n }, () => one);
    const keys = Object.fromEntries(Array.from({ length: 25_000 }, (_, i) => [`k${i}`, 0]));
    let deep: unknown = 0;
    for (let i = 0; i < 100_000; i++) deep = [deep];
    const hostile = [
      documentBody(long(80_000, {}) as object[]),
      documentBody([], { variables: long(80_000, {}) }),
      withPanel({ series: long(80_000, {}) }),
      withPanel({ deviceIDs: long(80_000, 1) }, 3),
      withPanel(keys),
      { ...documentBody([]), ...keys },
      documentBody(many(100, { series: long(20, { deviceID: " ", color: 9, axis: 1, x: 1 }) })),
      deep,
    ];
    for (const one of hostile) {
      const turns = watchTurns();
      const faults = await faultsOf(one);
      const { longestMs } = turns.stop();
      assert.ok(faults !== null && Object.keys(faults).length > 0 && Object.keys(faults).length <= 100);
      assert.ok(longestMs < 100, `${longestMs} ms`);
    }
    function many(n: number, fields: object) {
      return Array.from({ length: n }, (_, i) => ({ ...panels[0], id: `p${i}`, ...fields }));
    }
  });

  test("whatever JSON is sent is taken as it is, or its faults are named", () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom(
          ...Object.keys(documentBody(panels)),
          "panels.0",
          "panels.0.series",
          "panels.3.deviceIDs",
          "panels.6.filters",
        ),
        fc.jsonValue({ maxDepth: 3 }),
        async (path, value) => {
          const sent = structuredClone(documentBody(panels)) as never;
          const names = path.split(".");
          const last = names.pop() ?? "";
          const holder = names.reduce((at: Record<string, never>, name) => at[name] as never, sent);
          holder[last] = value as never;
          const faults = await faultsOf(sent);
          if (faults === null) assert.equal(await readDocument(sent, now), sent);
          else for (const field of Object.keys(faults)) assert.match(field, /^document(\.|$)/);
        },
      ),
      { numRuns: 300 },
    ));

  test("times are relative to now, to the zone's day, or instants", () => {
    const shanghai = zone("Asia/Shanghai");
    const read = (text: string) => readDashboardTime(text, shanghai, now, "start");
    assert.is(read("now"), now);
    assert.is(read("today"), Date.UTC(2026, 10, 20, 16));
    assert.is(read("-90m"), now - 90 * 60_000);
    assert.is(read("-24h"), now - 86_400_000);
    assert.is(read("-2w"), now - 14 * 86_400_000);
    assert.is(read("2026-11-01 00:00:00"), Date.UTC(2026, 9, 31, 16));
    assert.is(read("2026-11-01T00:00:00Z"), Date.UTC(2026, 10, 1));
    // The clocks go forward at midnight: the day begins at one.
    const day = Date.UTC(2018, 10, 4, 15);
    assert.is(readDashboardTime("today", zone("America/Sao_Paulo"), day, "start"), Date.UTC(2018, 10, 4, 3));
  });
});
