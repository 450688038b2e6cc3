import fc from "fast-check";
import { ranked } from "../../src/views/search.js";
import { hitTypes, type SearchHit } from "../../store/metadata/search-hits.js";
import { documentBody } from "../dashboards/documents.js";
import { makeDataPoint, makeDevice, makeGateway, makeGroup, makeProduct, unique } from "../factories.js";
import { assert, suite } from "../suite.js";
import { hasKeys, type Rec, refused, worldSuite } from "../world.js";

suite("ranked hits", (test) => {
  const hit = fc.record({
    type: fc.constantFrom(...hitTypes),
    id: fc.nat(),
    name: fc.string(),
    code: fc.constant(null),
    productName: fc.constant(null),
    rank: fc.integer({ min: 0, max: 2 }),
  });

  test("the better come first, no type is hidden by another, and none is shown twice", () => {
    const run = fc.property(
      fc.array(hit, { maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      (hits, limit) => {
        const found: SearchHit[] = ranked(hits, limit);
        assert.is(found.length, Math.min(limit, hits.length));
        assert.is(new Set(found).size, found.length);
        assert.ok(found.every((one, i) => i === 0 || (found[i - 1]?.rank ?? 0) <= one.rank));
        const worst = found.at(-1)?.rank ?? 0;
        assert.ok(hits.every((one) => one.rank >= worst || found.includes(one)));
        const counts = hitTypes.map((type) => ({
          shown: found.filter((one) => one.type === type && one.rank === worst).length,
          all: hits.filter((one) => one.type === type && one.rank === worst).length,
        }));
        const most = Math.max(...counts.map(({ shown }) => shown));
        assert.ok(counts.every(({ shown, all }) => shown === all || shown >= most - 1));
      },
    );
    fc.assert(run, { numRuns: 500 });
  });
});

worldSuite("search", (test, world) => {
  const search = async (q: string, more = "", key?: string): Promise<readonly Rec[]> => {
    const path = `/api/v1/search?q=${encodeURIComponent(q)}${more}`;
    const reply = await world.call("GET", path, undefined, key === undefined ? {} : { key });
    assert.is(reply.status, 200, reply.text);
    return reply.list;
  };
  let product: Rec;
  test.before(async () => {
    product = await makeProduct(world, { productName: "Kiln works" });
    await makeDevice(world, product, { deviceName: "KILN 1", deviceID: "kiln-1" });
    await makeDevice(world, product, { deviceName: "old kiln", deviceID: "k-2" });
    await makeGateway(world, product, { gatewayName: "Kiln hall" });
    await makeGroup(world, product, { groupName: "kilns" });
    const point = await makeDataPoint(world, product, { dataPointName: "Heat", dataPointID: "kiln_heat" });
    await world.make("/api/v1/alert_rules", {
      alertName: "too hot: kiln",
      alertContent: "x",
      alertSeverity: 2,
      productID: product.productID,
      dataPointIntID: point.id,
      condition: "dataPoint > 1",
    });
    await world.make("/api/v1/dashboards", { name: "All kilns", document: documentBody([]) });
    await world.make("/api/v1/users", { username: "kilner", password: "long enough 1", role: "viewer" });
  });

  test("finds records of each type; those that begin so come before those that contain it", async () => {
    const hits = await search("kiln");
    for (const one of hits) hasKeys(one, ["type", "id", "name", "detail"]);
    assert.equal(
      hits.map(({ type, name }) => [type, name]),
      [
        ["product", "Kiln works"],
        ["device", "KILN 1"],
        ["gateway", "Kiln hall"],
        ["group", "kilns"],
        ["dataPoint", "Heat"],
        ["user", "kilner"],
        ["device", "old kiln"],
        ["alertRule", "too hot: kiln"],
        ["dashboard", "All kilns"],
      ],
    );
    assert.equal(
      hits
        .filter(({ type }) => ["device", "dataPoint", "alertRule", "user"].includes(String(type)))
        .map(({ detail }) => detail),
      ["kiln-1 · Kiln works", "kiln_heat · Kiln works", "viewer", "k-2 · Kiln works", "Kiln works"],
    );
  });

  test("what is called exactly so is first, however many begin so", async () => {
    for (let i = 0; i < 25; i++)
      await makeDevice(world, product, { deviceID: `exact-${i}`, deviceName: `e ${i}` });
    const hits = await search("EXACT-2");
    assert.is(hits[0]?.detail, "exact-2 · Kiln works");
    assert.is(hits.length, 6);
    assert.is((await search("exact-")).length, 20);
    assert.is((await search("exact-", "&_limit=3")).length, 3);
  });

  test("signs stand for themselves, letters for both of their cases, one character is enough", async () => {
    const names = ["100%", "a_b", 'it\'s "so"', "ÄRGER", "温度计", "🦉"];
    for (const deviceName of names) await makeDevice(world, product, { deviceName, deviceID: unique("zz") });
    const namesOf = async (q: string) => (await search(q)).map(({ name }) => name);
    assert.equal(await namesOf("0%"), ["100%"]);
    assert.equal(await namesOf("a_b"), ["a_b"]);
    assert.equal(await namesOf("'s \"s"), ['it\'s "so"']);
    assert.equal(await namesOf("ärg"), ["ÄRGER"]);
    assert.equal(await namesOf("温度"), ["温度计"]);
    assert.equal(await namesOf("🦉"), ["🦉"]);
    assert.equal(await namesOf("%_%"), []);
    assert.equal(await namesOf("\u0000"), []);
    assert.equal(await namesOf("x".repeat(100)), []);
  });

  test("shows users to administrators alone, and nothing to other tenants", async () => {
    const types = async (key?: string) => new Set((await search("kiln", "", key)).map(({ type }) => type));
    assert.ok((await types()).has("user"));
    for (const role of ["operator", "viewer"] as const) {
      const found = await types(await world.keyOf(role));
      assert.equal([found.has("user"), found.size], [false, 7]);
    }
    assert.equal(await search("kiln", "", await world.otherTenant()), []);
  });

  test("what is wrong is named", async () => {
    for (const q of ["", `q=${"x".repeat(101)}`]) {
      refused(await world.call("GET", `/api/v1/search?${q}`), "PARAMETER_INVALID", "q");
    }
    for (const limit of ["0", "21", "x"]) {
      refused(await world.call("GET", `/api/v1/search?q=a&_limit=${limit}`), "PARAMETER_INVALID", "_limit");
    }
  });
});
