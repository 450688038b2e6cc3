/** Pages of the fleet against a plain sort and filter over the same rows, whichever way they are found. */
import fc from "fast-check";
import { type Db, openDb, type Statement } from "../../../../store/metadata/db/db.js";
import { migrations } from "../../../../store/metadata/db/migrations.js";
import { storePresence } from "../../../../store/metadata/devices/presence.js";
import type { FleetFilters } from "../../../../store/metadata/fleet/filters.js";
import { type FleetRequest, listFleet } from "../../../../store/metadata/fleet/fleet.js";
import { type FleetSort, fleetFields } from "../../../../store/metadata/fleet/order.js";
import { assert, openTempDir, suite } from "../../../suite.js";

interface Row {
  readonly id: number;
  readonly tenant: number;
  readonly kind: "device" | "gateway";
  readonly deviceID: string;
  readonly deviceName: string;
  readonly deviceUsername: string;
  readonly serialNumber: string | null;
  readonly productIntID: number;
  readonly deviceStatus: number;
  readonly blocked: number;
  readonly createAt: number;
  readonly lastSeen: number;
  readonly severities: readonly number[];
  readonly isMember: boolean;
}

const group = 1;
const names = ["Boiler 7", "boiler 7%", "BOILER_7", "温度 3", "Kessel 'x'", "pump", "Pump 🦉 2"];
const pick = <T>(from: readonly T[], i: number): T => from[i % from.length] as T;

/** Tenants 1 and 2 have products 1, 2 and 3, 4. */
const rows: readonly Row[] = Array.from({ length: 240 }, (_, i) => {
  const tenant = i % 6 === 5 ? 2 : 1;
  return {
    id: i + 1,
    tenant,
    kind: i % 11 === 3 ? "gateway" : "device",
    deviceID: `${i % 2 === 0 ? "Dev" : "dev"}-${(i * 37) % 240}`,
    deviceName: `${pick(names, i * 5)} ${i}`,
    deviceUsername: `user-${i}`,
    serialNumber: i % 3 === 0 ? `SN%${i}` : null,
    productIntID: tenant === 1 ? 1 + (i % 4 === 0 ? 1 : 0) : 3,
    deviceStatus: pick([0, 1, 1, 2, 0], i * 3),
    blocked: i % 9 === 0 ? 1 : 0,
    createAt: 1000 * ((i * 7) % 50),
    lastSeen: i % 4 === 1 ? 0 : 500 * ((i * 13) % 40),
    severities: i % 8 === 2 ? [3, 1 + (i % 4)] : [],
    isMember: i % 5 === 0,
  };
});

function made(): Statement[] {
  const tenants = [1, 2].map((id) => ({
    sql: "insert into tenant (id, tenantID, tenantName, createAt) values (?, ?, ?, 0)",
    args: [id, `C${id}`, `t${id}`],
  }));
  const products = [1, 2, 3].map((id) => ({
    sql: "insert into product (id, tenant, productID, productName, cloudProtocol, createAt) values (?, ?, ?, ?, 1, 0)",
    args: [id, id < 3 ? 1 : 2, `p${id}`, `product ${id}`],
  }));
  const groups = {
    sql: "insert into device_group (id, tenant, productIntID, groupID, groupName, createAt) values (?, 1, 1, 'g', 'g', 0)",
    args: [group],
  };
  return [...tenants, ...products, groups, ...rows.flatMap(ofRow)];
}

function ofRow(row: Row): Statement[] {
  const { id, tenant, kind, deviceID, deviceName, deviceUsername, serialNumber, createAt } = row;
  const { productIntID, deviceStatus, blocked, lastSeen, severities, isMember } = row;
  return [
    {
      sql: `insert into device (id, tenant, kind, deviceID, deviceName, deviceUsername, serialNumber, token, productIntID,
          deviceStatus, blocked, createAt) values (?, ?, ?, ?, ?, ?, ?, x'00', ?, 0, ?, ?)`,
      args: [
        id,
        tenant,
        kind,
        deviceID,
        deviceName,
        deviceUsername,
        serialNumber,
        productIntID,
        blocked,
        createAt,
      ],
    },
    { sql: "update device set deviceStatus = ? where id = ?", args: [deviceStatus, id] },
    {
      sql: `insert into device_ingest (deviceIntID, node, journalID, saves, messages, points, refused, lastAt, state)
        values (?, 0, 1, 1, 1, 1, '{}', ?, 'null')`,
      args: [id, lastSeen === 0 ? null : lastSeen],
    },
    ...severities.map((severity, i) => ({
      sql: `insert into alert (tenant, deviceIntID, cause, alertName, alertContent, alertSeverity, startTime, createAt)
        values (?, ?, ?, 'a', 'a', ?, 0, 0)`,
      args: [tenant, id, `c${i}`, severity],
    })),
    ...(id % 7 === 0
      ? [
          {
            sql: `insert into alert (tenant, deviceIntID, cause, alertName, alertContent, alertSeverity, startTime, endTime,
              createAt) values (?, ?, 'ended', 'a', 'a', 1, 0, 1, 0)`,
            args: [tenant, id],
          },
        ]
      : []),
    ...(isMember && tenant === 1
      ? [{ sql: "insert into group_member (groupIntID, deviceIntID) values (?, ?)", args: [group, id] }]
      : []),
  ];
}

/** ASCII letters compare without their case, as the index does. */
const folded = (text: string): string => text.replace(/[A-Z]/g, (one) => one.toLowerCase());
const compared = (a: string | number, b: string | number): number => {
  if (typeof a === "number") return a - Number(b);
  return Buffer.compare(Buffer.from(folded(a)), Buffer.from(folded(String(b))));
};

function expected(tenant: number, filters: FleetFilters, sort: FleetSort): Row[] {
  const { q, productIntID, groupIntID, deviceStatus, blocked, hasAlert, kind } = filters;
  const found = rows.filter((row) => {
    const texts = [row.deviceID, row.deviceName, row.deviceUsername, row.serialNumber ?? ""];
    return (
      row.tenant === tenant &&
      (q === undefined || texts.some((text) => text.toLowerCase().includes(q.toLowerCase()))) &&
      (productIntID === undefined || row.productIntID === productIntID) &&
      (groupIntID === undefined || (groupIntID === group && tenant === 1 && row.isMember)) &&
      (deviceStatus === undefined || row.deviceStatus === deviceStatus) &&
      (blocked === undefined || row.blocked === blocked) &&
      (hasAlert === undefined || row.severities.length > 0 === (hasAlert === 1)) &&
      (kind === undefined || row.kind === kind)
    );
  });
  const sign = sort.descending ? -1 : 1;
  return found.sort((a, b) => sign * (compared(a[sort.field], b[sort.field]) || a.id - b.id));
}

const optional = <T>(from: fc.Arbitrary<T>) => fc.option(from, { nil: undefined, freq: 2 });
const filtersOf: fc.Arbitrary<FleetFilters> = fc.record({
  q: optional(
    fc.constantFrom("boiler", "7%", "_7", "温度", "'x'", "dev-1", "user-2", "sn%", "🦉", "P", "absent"),
  ),
  productIntID: optional(fc.constantFrom(1, 2, 3, 99)),
  groupIntID: optional(fc.constantFrom(group, 99)),
  deviceStatus: optional(fc.constantFrom(0, 1, 2)),
  blocked: optional(fc.constantFrom(0, 1)),
  hasAlert: optional(fc.constantFrom(0, 1)),
  kind: optional(fc.constantFrom("device" as const, "gateway" as const)),
});
const sortOf: fc.Arbitrary<FleetSort> = fc.record({
  field: fc.constantFrom(...fleetFields),
  descending: fc.boolean(),
});

suite("fleet", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  test.before(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
    await db.write(made());
  });
  test.after(async () => {
    await db.close();
    await dir.close();
  });
  const ask = (tenant: number, request: Partial<FleetRequest>, countedMax?: number) =>
    listFleet(
      { db },
      tenant,
      {
        filters: {},
        sort: { field: "lastSeen", descending: true },
        limit: 200,
        after: null,
        offset: 0,
        facets: false,
        ...request,
      },
      countedMax,
    );

  test("pages one after the other hold each row once, in order; so does every offset", async () => {
    const run = fc.asyncProperty(
      fc.constantFrom(1, 2),
      filtersOf,
      sortOf,
      fc.integer({ min: 1, max: 80 }),
      fc.nat(250),
      fc.constantFrom(10_000, 10, 1),
      async (tenant, filters, sort, limit, offset, countedMax) => {
        const all = expected(tenant, filters, sort).map(({ id }) => id);
        const ids: number[] = [];
        let after: FleetRequest["after"] = null;
        do {
          const page = await ask(tenant, { filters, sort, limit, after }, countedMax);
          ids.push(...page.items.map(({ id }) => id));
          assert.ok(page.isCountBounded ? page.count <= all.length : page.count === all.length);
          after = page.next;
        } while (after !== null);
        assert.equal(ids, all);
        const jumped = await ask(tenant, { filters, sort, limit, offset }, countedMax);
        assert.equal(
          jumped.items.map(({ id }) => id),
          all.slice(offset, offset + limit),
        );
        assert.is(jumped.next === null, offset + limit >= all.length);
      },
    );
    await fc.assert(run, { numRuns: 300 });
  });

  test("rows say what they are, and facets count what count counts", async () => {
    await fc.assert(
      fc.asyncProperty(filtersOf, async (filters) => {
        const sort = { field: "deviceName", descending: false } as const;
        const all = expected(1, filters, sort);
        const { items, facets } = await ask(1, { filters, sort, facets: true });
        assert.equal(
          items.map((row) => [row.deviceName, row.lastSeen, row.currentAlerts, row.worstSeverity]),
          all.map(({ deviceName, lastSeen, severities }) => {
            const worst = severities.length === 0 ? null : Math.min(...severities);
            return [deviceName, lastSeen, severities.length, worst];
          }),
        );
        const counts = (field: "deviceStatus" | "productIntID") =>
          [...new Set(all.map((row) => row[field]))]
            .map((value) => ({ value, count: all.filter((row) => row[field] === value).length }))
            .sort((a, b) => a.value - b.value);
        assert.equal(
          [...(facets?.deviceStatus ?? [])].sort((a, b) => a.value - b.value),
          counts("deviceStatus"),
        );
        assert.equal(
          [...(facets?.products ?? [])]
            .map(({ productIntID: value, count }) => ({ value, count }))
            .sort((a, b) => a.value - b.value),
          counts("productIntID"),
        );
        assert.is(facets?.blocked, all.filter(({ blocked }) => blocked === 1).length);
        assert.is(facets?.hasAlert, all.filter(({ severities }) => severities.length > 0).length);
      }),
      { numRuns: 100 },
    );
  });

  test("a device is seen at its newest message and whenever it comes or goes, never earlier than before", async () => {
    const lastSeen = async () => {
      const row = await db.first<{ lastSeen: number }>("select lastSeen from device_seen where id = 1");
      return row?.lastSeen;
    };
    const said = (lastAt: number) =>
      db.write([{ sql: "update device_ingest set lastAt = ? where deviceIntID = 1", args: [lastAt] }]);
    const presence = (seenAt: number) =>
      storePresence(db, 0, [
        { id: 1, deviceStatus: 0, clientIP: null, connectedAt: null, keepAlive: null, seenAt },
      ]);
    await said(90_000);
    assert.is(await lastSeen(), 90_000);
    await presence(95_000);
    assert.is(await lastSeen(), 95_000);
    await said(91_000);
    await presence(94_000);
    assert.is(await lastSeen(), 95_000);
  });

  test("counts are those of the rows, whatever becomes of them", async () => {
    const kept = () =>
      db.all("select * from fleet_count order by tenant, productIntID, kind, deviceStatus, blocked");
    const plain = () =>
      db.all(`select tenant, productIntID, kind, deviceStatus, blocked, count(*) n from device
        group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`);
    assert.equal(await kept(), await plain());
    await db.write([
      { sql: "update device set blocked = 1 - blocked where id % 3 = 0" },
      { sql: "update device set deviceStatus = 0 where id % 2 = 0" },
      { sql: "delete from device where id > 200" },
    ]);
    assert.equal(await kept(), await plain());
    const left = await db.all("select id from device_seen where id > 200");
    assert.equal(left, []);
  });

  test("a folder of format 12 is read on: its devices are counted, and seen when they were", async () => {
    const url = `file:${dir.path}/older.db`;
    const { createClient } = await import("@libsql/client");
    const client = createClient({ url });
    const texts = "'p', 'p', 1, 0";
    const device = (id: number, connectedAt: string) =>
      `insert into device (id, tenant, deviceID, deviceName, deviceUsername, token, productIntID, deviceStatus, connectedAt,
        createAt) values (${id}, 1, 'd${id}', 'd${id}', 'd${id}', x'00', 1, 1, ${connectedAt}, 0)`;
    const heard = (node: number, lastAt: number) =>
      `insert into device_ingest (deviceIntID, node, journalID, saves, messages, points, refused, lastAt, state)
        values (1, ${node}, 1, 1, 1, 1, '{}', ${lastAt}, 'null')`;
    await client.batch(
      [
        "create table format (version integer not null) strict",
        "insert into format values (12)",
        ...migrations.slice(0, 12).flat(),
        "insert into tenant (id, tenantID, tenantName, createAt) values (1, 'C1', 't', 0)",
        `insert into product (tenant, productID, productName, cloudProtocol, createAt) values (1, ${texts})`,
        ...[device(1, "5000"), device(2, "7000"), device(3, "null"), heard(0, 9000), heard(1, 8000)],
      ],
      "write",
    );
    client.close();
    const older = await openDb({ url, shared: false });
    const sort = { field: "lastSeen", descending: true } as const;
    const request = { filters: {}, sort, limit: 10, after: null, offset: 0, facets: true };
    const { items, count, facets } = await listFleet({ db: older }, 1, request);
    assert.equal(
      items.map(({ id, lastSeen }) => [id, lastSeen]),
      [
        [1, 9000],
        [2, 7000],
        [3, 0],
      ],
    );
    assert.equal([count, facets?.deviceStatus], [3, [{ value: 1, count: 3 }]]);
    await older.close();
  });
});
