/** Devices on a map against a naive grid over all of them, and how the queries find their rows. */
import { join } from "node:path";
import fc from "fast-check";
import { type Db, openDb, type SqlValue } from "../../../../store/metadata/db/db.js";
import { type Box, cellDegrees, clustersMax } from "../../../../store/metadata/devices/place-grid.js";
import {
  devicePlaces,
  type PlaceQuery,
  type Places,
  placesWalkedMax,
} from "../../../../store/metadata/devices/places.js";
import { assert, suite, watchTurns, withTempDir } from "../../../suite.js";

interface Device {
  readonly id: number;
  readonly tenant: number;
  readonly kind: "device" | "gateway";
  readonly product: number;
  readonly place: readonly [longitude: number, latitude: number] | null;
  readonly severities: readonly number[];
  readonly inGroup: boolean;
}

async function withDb(work: (db: Db) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
    await db.write([
      {
        sql: "insert into tenant (id, tenantID, tenantName, createAt) values (1, 'a', 'A', 0), (2, 'b', 'B', 0)",
      },
      {
        sql: `insert into product (id, tenant, productID, productName, cloudProtocol, createAt)
          values (1, 1, 'p1', 'P1', 1, 0), (2, 1, 'p2', 'P2', 1, 0), (3, 2, 'p3', 'P3', 1, 0)`,
      },
      {
        sql: `insert into device_group (id, tenant, productIntID, groupID, groupName, createAt)
          values (1, 1, 1, 'g1', 'G1', 0)`,
      },
    ]);
    await work(db);
    await db.close();
  });
}

const insertDevices = (devices: readonly Device[]) => [
  {
    sql: `insert into device
        (id, tenant, kind, deviceID, deviceName, deviceUsername, token, productIntID, longitude, latitude, createAt)
      select v.value->>0, v.value->>1, v.value->>2, 'd' || (v.value->>0), 'name ' || (v.value->>0), 'u' || (v.value->>0),
        x'', v.value->>3, v.value->>4, v.value->>5, 0 from json_each(?) v`,
    args: [
      devices.map(({ id, tenant, kind, product, place }) => [
        ...[id, tenant, kind, product],
        ...(place === null ? [null, null] : place.map(asReal)),
      ]),
    ],
  },
  {
    sql: `insert into alert (tenant, deviceIntID, cause, alertName, alertContent, alertSeverity, startTime, endTime, createAt)
      select v.value->>0, v.value->>1, v.value->>2, 'a', 'a', v.value->>3, 0, v.value->>4, 0 from json_each(?) v`,
    args: [
      devices.flatMap(({ id, tenant, severities }) => [
        ...severities.map((severity, i) => [tenant, id, `upper:${i}`, severity, null]),
        // One that has ended counts for nothing.
        [tenant, id, "fault:1", 1, 5],
      ]),
    ],
  },
  {
    sql: "insert into group_member (groupIntID, deviceIntID) select 1, value from json_each(?)",
    args: [devices.filter(({ inGroup }) => inGroup).map(({ id }) => id)],
  },
];

/** JSON has no integer-valued reals; the column takes a text that reads as one. */
const asReal = (degrees: number): string => String(degrees);

const everywhere: Box = { west: -180, south: -90, east: 180, north: 90 };
const query = (fields: Partial<PlaceQuery> = {}): PlaceQuery => ({
  box: everywhere,
  zoom: 0,
  kinds: ["device", "gateway"],
  productIntID: null,
  groupIntID: null,
  deviceIntID: null,
  ...fields,
});

/** Clusters by a grid over all devices, as texts in order. */
function naive(
  devices: readonly Device[],
  { box, zoom, kinds, productIntID, groupIntID }: PlaceQuery,
): string[] {
  const degrees = cellDegrees(box, zoom);
  const cells = new Map<string, { device: Device; longitude: number; latitude: number }[]>();
  for (const device of devices) {
    if (device.tenant !== 1 || device.place === null || !kinds.includes(device.kind)) continue;
    if (productIntID !== null && device.product !== productIntID) continue;
    if (groupIntID !== null && !device.inGroup) continue;
    const [longitude, latitude] = device.place;
    const isEast = longitude >= box.west;
    const isWest = longitude <= box.east;
    const isBetween = box.west <= box.east ? isEast && isWest : isEast || isWest;
    if (!isBetween || latitude < box.south || latitude > box.north) continue;
    const cell = `${Math.floor((latitude + 90) / degrees)} ${Math.floor((longitude + 180) / degrees)}`;
    cells.set(cell, [...(cells.get(cell) ?? []), { device, longitude, latitude }]);
  }
  return [...cells.values()]
    .map((some) => {
      const mean = (of: "longitude" | "latitude") =>
        some.reduce((sum, one) => sum + one[of], 0) / some.length;
      const severities = some.flatMap(({ device }) => device.severities);
      const id = some.length === 1 ? (some[0]?.device.id ?? null) : null;
      return shown(
        mean("longitude"),
        mean("latitude"),
        some.length,
        id,
        severities.length ? Math.min(...severities) : null,
      );
    })
    .sort();
}

const shown = (longitude: number, latitude: number, count: number, id: number | null, worst: number | null) =>
  JSON.stringify(
    [(longitude + 0).toFixed(6), (latitude + 0).toFixed(6), count, id, worst].map((one) =>
      one === "-0.000000" ? "0.000000" : one,
    ),
  );

const textsOf = ({ clusters }: Places): string[] =>
  clusters
    .map(({ longitude, latitude, count, device, worstSeverity }) =>
      shown(longitude, latitude, count, device?.id ?? null, worstSeverity),
    )
    .sort();

/** Few different ones, and the edges of the earth: devices meet, and lie on the edges of boxes and cells. */
const longitude = fc.oneof(
  fc.constantFrom(-180, -90, 0, 90, 179.999, 180),
  fc.double({ min: -180, max: 180, noNaN: true }),
);
const latitude = fc.oneof(fc.constantFrom(-90, 0, 45, 90), fc.double({ min: -90, max: 90, noNaN: true }));
const device = fc.record({
  kind: fc.constantFrom("device" as const, "gateway" as const),
  product: fc.constantFrom(1, 2, 3),
  place: fc.option(fc.tuple(longitude, latitude), { nil: null }),
  severities: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 2 }),
  inGroup: fc.boolean(),
});
const asked = fc.record({
  box: fc
    .tuple(longitude, longitude, latitude, latitude)
    .filter(([west, east, one, other]) => west !== east && one !== other)
    .map(([west, east, one, other]) => ({
      west,
      east,
      south: Math.min(one, other),
      north: Math.max(one, other),
    })),
  zoom: fc.integer({ min: 0, max: 22 }),
  kinds: fc.constantFrom<PlaceQuery["kinds"]>(["device"], ["device", "gateway"]),
  productIntID: fc.constantFrom(null, 1, 3, 99),
  groupIntID: fc.constantFrom(null, 1, 99),
});

suite("places of devices", (test) => {
  test("a box has at most so many cells, whatever its size, its zoom and its edges", () => {
    fc.assert(
      fc.property(asked, ({ box, zoom }) => {
        const degrees = cellDegrees(box, zoom);
        const rows = Math.floor((box.north + 90) / degrees) - Math.floor((box.south + 90) / degrees) + 1;
        const across = box.west <= box.east ? box.east - box.west : box.east - box.west + 360;
        assert.ok((across / degrees) * rows <= clustersMax);
        assert.is(Math.log2(360 / degrees) % 1, 0);
      }),
      { numRuns: 2000 },
    );
    assert.is(cellDegrees({ west: 8, south: 47, east: 8.01, north: 47.01 }, 15), 360 / 2 ** 17);
  });

  test("clusters are those of a naive grid: kinds, products, groups, tenants, severities, the antimeridian", () =>
    withDb(async (db) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(device, { maxLength: 40 }),
          fc.array(asked, { minLength: 1, maxLength: 6 }),
          async (made, questions) => {
            const devices = made.map((one, i) => ({ ...one, id: i + 1, tenant: one.product === 3 ? 2 : 1 }));
            await db.write([{ sql: "delete from device" }, ...insertDevices(devices)]);
            for (const one of questions) {
              const found = await devicePlaces(db, 1, query(one));
              const wanted = one.groupIntID === 99 ? [] : naive(devices, query(one));
              assert.equal(textsOf(found), wanted, JSON.stringify(one));
              assert.is(
                found.total,
                found.clusters.reduce((sum, { count }) => sum + count, 0),
              );
              assert.is(found.isTruncated, false);
            }
          },
        ),
        { numRuns: 60 },
      );
    }));

  test("100,000 devices: all counted, alerts too, in steps and in short turns, by indexes alone", () =>
    withDb(async (db) => {
      const most = 100_000;
      for (let from = 0; from < most; from += 10_000) {
        const some = Array.from({ length: 10_000 }, (_, i): Device => {
          const id = from + i + 1;
          // A fifth of them stand at the very same place.
          const place =
            id % 5 === 0
              ? ([8.5, 47.4] as const)
              : ([((id * 7919) % 35_900) / 100 - 179, ((id * 104_729) % 17_000) / 100 - 85] as const);
          const severities = id % 10 === 0 ? [2] : id === 77_777 ? [1] : [];
          return { id, tenant: 1, kind: "device", product: 1, place, severities, inGroup: id === 77_777 };
        });
        await db.write(insertDevices(some));
      }
      const plans: string[] = [];
      const noting: Db = {
        ...db,
        inStep: async <Row>(sql: string, args: readonly SqlValue[] = []) => {
          for (const { detail } of await db.all<{ detail: string }>(`explain query plan ${sql}`, args))
            plans.push(detail);
          return db.inStep<Row>(sql, args);
        },
      };
      for (const box of [everywhere, { west: 8, south: 47, east: 8.8, north: 48 }])
        await devicePlaces(noting, 1, query({ box, zoom: 9 }));
      const wrong = plans.filter(
        (one) => /^SCAN/.test(one) || /^SEARCH r USING INDEX/.test(one) || /^SEARCH a USING INDEX/.test(one),
      );
      assert.equal(wrong, []);

      const turns = watchTurns();
      const found = await devicePlaces(db, 1, query({ zoom: 22 }));
      const { longestMs } = turns.stop();
      assert.is(found.total, most);
      assert.is(found.isTruncated, false);
      assert.ok(found.clusters.length <= clustersMax);
      assert.ok(Math.max(...found.clusters.map(({ count }) => count)) >= most / 5);
      assert.ok(found.clusters.some(({ worstSeverity }) => worstSeverity === 1));
      assert.ok(longestMs < 50, `${longestMs} ms`);
      const ofGroup = await devicePlaces(db, 1, query({ groupIntID: 1, zoom: 22 }));
      assert.equal(
        ofGroup.clusters.map(({ device: one, worstSeverity }) => [one?.deviceName, worstSeverity]),
        [["name 77777", 1]],
      );
    }));

  test("beyond its bound a walk says that it is cut", () =>
    withDb(async (db) => {
      const full = { latitude: 1, longitude: 1, id: 1 };
      // A store whose every step finds as many as it is asked for.
      const endless: Db = {
        ...db,
        inStep: async (sql) => ({
          rows: (/ offset \?/.test(sql)
            ? [full]
            : [{ cell: 5, count: 2, longitudes: 2, latitudes: 2, id: 1, severity: 3 }]) as never,
          ms: 0,
        }),
      };
      const found = await devicePlaces(endless, 1, query());
      assert.is(found.isTruncated, true);
      assert.ok(found.total >= (placesWalkedMax / 8000) * 2);
      assert.equal(
        found.clusters.map(({ worstSeverity }) => worstSeverity),
        [3],
      );
    }));
});
