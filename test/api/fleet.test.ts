import { makeDataPoint, makeDevice, makeGateway, makeGroup, makeProduct, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import { hasKeys, type Rec, type Reply, refused, worldSuite, worldSuites } from "../world.js";

const path = "/api/v1/fleet";

interface Fleet {
  readonly items: readonly Rec[];
  readonly next: string | null;
  readonly count: number;
  readonly isCountBounded: boolean;
  readonly facets: Readonly<Record<string, unknown>> | null;
}

const keys = ["id", "deviceID", "deviceName", "productIntID", "productName", "isGateway"].concat([
  "deviceStatus",
  "blocked",
  "lastSeen",
  "currentAlerts",
  "worstSeverity",
  "values",
]);
const fleetOf = ({ status, record, text }: Reply): Fleet => {
  assert.is(status, 200, text);
  return record as unknown as Fleet;
};

worldSuites("a row of the fleet", (test, world) => {
  test("says what its device reports, when it was seen, and what is wrong with it", async () => {
    const product = await makeProduct(world);
    const temp = await makeDataPoint(world, product, {
      dataPointID: "temp",
      upperLimit: 30,
      unitSymbol: "°C",
    });
    const place = await makeDataPoint(world, product, { dataPointID: "place", pointDataType: 6 });
    await makeDataPoint(world, product, { dataPointID: "order", dataTransType: 2 });
    const device = await makeDevice(world, product);
    const ask = async () =>
      fleetOf(await world.call("GET", `${path}?productIntID=${product.id}`)).items[0] as Rec;
    const before = await ask();
    hasKeys(before, keys);
    assert.equal(
      [before.lastSeen, before.deviceStatus, before.currentAlerts, before.worstSeverity, before.values],
      [null, 0, 0, null, []],
    );
    await world.publish(device, { temp: 20 }, { temp: 35.5, place: [8.5, 47.4] });
    await world.alertsSettled();
    await until(async () => (await ask()).deviceStatus === 0 && (await ask()).currentAlerts === 1, {
      what: "the alert",
    });
    const { lastSeen, values, ...row } = await ask();
    assert.match(String(lastSeen), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    assert.equal(row, {
      id: device.id,
      deviceID: device.deviceID,
      deviceName: device.deviceName,
      productIntID: product.id,
      productName: product.productName,
      isGateway: false,
      deviceStatus: 0,
      blocked: 0,
      currentAlerts: 1,
      worstSeverity: 2,
    });
    assert.equal(
      (values as Rec[]).map(({ time, ...value }) => value),
      [
        { dataPointIntID: temp.id, dataPointName: temp.dataPointName, unitSymbol: "°C", value: 35.5 },
        {
          dataPointIntID: place.id,
          dataPointName: place.dataPointName,
          unitSymbol: null,
          value: [8.5, 47.4],
        },
      ],
    );
  });
});

worldSuite("fleet", (test, world) => {
  let product: Rec;
  const devices: Rec[] = [];
  let gateway: Rec;
  test.before(async () => {
    product = await makeProduct(world);
    const names = ["alpha", "Beta 50%", "beta_5", 'it\'s "quoted"', "温度 🦉"];
    for (const deviceName of names) devices.push(await makeDevice(world, product, { deviceName }));
    gateway = await makeGateway(world, product, { gatewayName: "Gamma" });
  });
  const ask = async (query: string, key?: string): Promise<Fleet> =>
    fleetOf(await world.call("GET", `${path}?${query}`, undefined, key === undefined ? {} : { key }));
  const namesOf = async (query: string) => (await ask(query)).items.map(({ deviceName }) => deviceName);

  test("pages follow each other by their cursors, in each order", async () => {
    const all = ["alpha", "Beta 50%", "beta_5", "Gamma", 'it\'s "quoted"', "温度 🦉"];
    for (const [sort, names] of [
      ["deviceName", all],
      ["-deviceName", [...all].reverse()],
    ] as const) {
      const found: unknown[] = [];
      let next: string | null = "";
      while (next !== null) {
        const page: Fleet = await ask(`_sort=${sort}&_limit=2&after=${next}`);
        assert.equal([page.count, page.isCountBounded, page.facets], [6, false, null]);
        found.push(...page.items.map(({ deviceName }) => deviceName));
        next = page.next;
      }
      assert.equal(found, names);
    }
    assert.equal(await namesOf("_sort=deviceName&_limit=2&offset=3"), all.slice(3, 5));
    assert.equal(await namesOf("_sort=deviceName&offset=200000"), []);
    for (const field of ["deviceID", "lastSeen", "createAt", "deviceStatus"]) {
      assert.is((await ask(`_sort=-${field}`)).items.length, 6);
    }
  });

  test("a page stays where it is while rows come and change", async () => {
    const first = await ask("_sort=deviceName&_limit=3");
    const added = await makeDevice(world, product, { deviceName: "aaa" });
    const { items } = await ask(`_sort=deviceName&_limit=3&after=${first.next}`);
    assert.equal(
      items.map(({ deviceName }) => deviceName),
      ["Gamma", 'it\'s "quoted"', "温度 🦉"],
    );
    assert.is((await world.call("DELETE", `/api/v1/devices?ids=${added.id}`)).status, 204);
  });

  test("filters are those of the record, texts in any case, signs for themselves", async () => {
    const { id: group } = await makeGroup(world, product);
    const ids = { ids: [devices[1]?.id, devices[4]?.id] };
    assert.is((await world.call("POST", `/api/v1/groups/${group}/devices`, ids)).status, 201);
    assert.is((await world.call("PUT", `/api/v1/devices/${devices[0]?.id}`, { blocked: 1 })).status, 200);
    const by = (query: string) => namesOf(`_sort=deviceName&${query}`);
    assert.equal(await by("q=BETA"), ["Beta 50%", "beta_5"]);
    assert.equal(await by(`q=${encodeURIComponent("0%")}`), ["Beta 50%"]);
    assert.equal(await by("q=a_5"), ["beta_5"]);
    assert.equal(await by(`q=${encodeURIComponent("'s \"q")}`), ['it\'s "quoted"']);
    assert.equal(await by(`q=${encodeURIComponent("🦉")}`), ["温度 🦉"]);
    assert.equal(await by("q=%00"), []);
    assert.equal(await by(`q=${devices[2]?.deviceID}`), ["beta_5"]);
    assert.equal(await by(`q=${devices[2]?.deviceUsername}`), ["beta_5"]);
    assert.equal(await by(`groupIntID=${group}`), ["Beta 50%", "温度 🦉"]);
    assert.equal(await by(`groupIntID=${group}&q=beta`), ["Beta 50%"]);
    assert.equal(await by("kind=gateway"), ["Gamma"]);
    assert.equal(await by("blocked=1"), ["alpha"]);
    assert.equal(await by("hasAlert=1"), []);
    assert.is((await by("hasAlert=0&deviceStatus=0&kind=device&blocked=0")).length, 4);
    assert.is((await by("q=&productIntID=&kind=&_limit=")).length, 6);
  });

  test("facets count what count counts", async () => {
    const client = await world.connect(devices[3] as Rec);
    await until(async () => (await ask("deviceStatus=1")).count === 1, {
      what: "the device to be there",
    });
    const all = await ask("facets=1");
    const { id: productIntID, productName } = product;
    assert.equal(all.facets, {
      deviceStatus: [
        { value: 0, count: 5 },
        { value: 1, count: 1 },
      ],
      products: [{ productIntID, productName, count: 6 }],
      blocked: 1,
      hasAlert: 0,
    });
    const some = await ask("facets=1&q=beta");
    assert.equal([some.count, some.facets?.deviceStatus], [2, [{ value: 0, count: 2 }]]);
    assert.equal((await ask("_sort=-deviceStatus&_limit=1")).items[0]?.id, devices[3]?.id);
    assert.equal((await ask("_limit=1")).items[0]?.id, devices[3]?.id, "seen last");
    await client.endAsync();
  });

  test("another tenant's are not there, whatever is asked", async () => {
    const key = await world.otherTenant();
    const { id: group } = await makeGroup(world, product);
    assert.is(
      (await world.call("POST", `/api/v1/groups/${group}/devices`, { ids: [devices[0]?.id] })).status,
      201,
    );
    for (const query of ["", `productIntID=${product.id}`, `groupIntID=${group}`, "q=beta", "kind=gateway"]) {
      const { items, count, facets } = await ask(`facets=1&${query}`, key);
      assert.equal([items, count, facets?.products, facets?.blocked], [[], 0, [], 0], query);
    }
    assert.is((await ask(`productIntID=${product.id}`, await world.keyOf("viewer"))).count, 6);
  });

  test("what is wrong is named", async () => {
    const wrong = async (query: string, ...fields: string[]) =>
      refused(await world.call("GET", `${path}?${query}`), "PARAMETER_INVALID", ...fields);
    await wrong("_limit=201", "_limit");
    await wrong("_limit=0", "_limit");
    await wrong("_sort=token", "_sort");
    await wrong("_sort=--deviceName", "_sort");
    await wrong("offset=200001", "offset");
    await wrong("offset=10001&kind=device", "offset");
    await wrong("offset=-1", "offset");
    await wrong("facets=2", "facets");
    await wrong("kind=group", "kind");
    await wrong(
      "deviceStatus=3&blocked=2&hasAlert=x&productIntID=0",
      "deviceStatus",
      "blocked",
      "hasAlert",
      "productIntID",
    );
    await wrong(`q=${"x".repeat(257)}`, "q");
    const { next } = await ask("_sort=deviceName&_limit=1");
    await wrong(`_sort=-deviceName&after=${next}`, "after");
    await wrong(`_sort=deviceName&after=${next}&offset=1`, "offset");
    const forged = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const cursors = [
      ...["x", "%00", "[]", "x".repeat(5000)],
      ...[
        ["-lastSeen"],
        ["-lastSeen", "a", 1],
        ["-lastSeen", 1, "a"],
        ["-lastSeen", 1.5, 1],
        ["-lastSeen", null, 1],
      ].map(forged),
    ];
    for (const cursor of cursors) await wrong(`after=${cursor}`, "after");
  });

  test("the longest names and ids are found, sorted and followed", async () => {
    const own = await makeProduct(world);
    const long = "🦉".repeat(127);
    await makeDevice(world, own, { deviceName: long, deviceID: "x".repeat(64) });
    await makeDevice(world, own, {
      deviceName: `${long.slice(0, -2)}🦊`,
      deviceID: unique("y").padEnd(64, "y"),
    });
    const first = await ask(`productIntID=${own.id}&_sort=deviceName&_limit=1`);
    const second = await ask(`productIntID=${own.id}&_sort=deviceName&_limit=1&after=${first.next}`);
    assert.equal([first.items.length, second.items.length, second.next], [1, 1, null]);
    assert.is.not(first.items[0]?.id, second.items[0]?.id);
    assert.is((await ask(`q=${encodeURIComponent(long)}`)).count, 1);
  });

  test("gateways say so", async () => {
    const { items } = await ask("kind=gateway");
    assert.equal(
      items.map(({ id, isGateway }) => [id, isGateway]),
      [[gateway.id, true]],
    );
  });
});
