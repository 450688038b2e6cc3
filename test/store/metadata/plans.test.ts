/** How SQLite finds the rows of every list and of its common filters: by an index, without sorting. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { listAlertRules } from "../../../store/metadata/alerts/alert-rules.js";
import { listAlerts } from "../../../store/metadata/alerts/alerts.js";
import { listControlLogs, listGroupControlLogs } from "../../../store/metadata/commands/control-logs.js";
import { listSchedules } from "../../../store/metadata/commands/schedules.js";
import { listDashboards } from "../../../store/metadata/dashboards/dashboards.js";
import { listRevisions } from "../../../store/metadata/dashboards/revisions.js";
import { listShares } from "../../../store/metadata/dashboards/shares.js";
import { listChanges } from "../../../store/metadata/db/changes.js";
import { type Db, openDb, type Statement } from "../../../store/metadata/db/db.js";
import { createVault } from "../../../store/metadata/db/secrets.js";
import type { PageRequest } from "../../../store/metadata/db/table.js";
import { listDevices, listEveryDevice, listGateways } from "../../../store/metadata/devices/devices.js";
import { type FleetRequest, listFleet } from "../../../store/metadata/fleet/fleet.js";
import { fleetFields } from "../../../store/metadata/fleet/order.js";
import { listCarriedDevices } from "../../../store/metadata/gateway-data.js";
import { listGroups } from "../../../store/metadata/groups/groups.js";
import { listAlertRoutes } from "../../../store/metadata/notifications/alert-routes.js";
import { listContactPoints } from "../../../store/metadata/notifications/contact-points.js";
import { listNotifications } from "../../../store/metadata/notifications/notifications.js";
import { listSilences } from "../../../store/metadata/notifications/silences.js";
import { listCerts, listCertsOfDevice } from "../../../store/metadata/policies/certs.js";
import { listPolicies } from "../../../store/metadata/policies/policies.js";
import { listSubscriptions } from "../../../store/metadata/policies/subscriptions.js";
import { listAppTemplates } from "../../../store/metadata/products/app-templates.js";
import { listDataPoints } from "../../../store/metadata/products/data-points.js";
import { listDataStreams } from "../../../store/metadata/products/data-streams.js";
import { listMetrics } from "../../../store/metadata/products/metrics.js";
import { listProductResources } from "../../../store/metadata/products/product-resources.js";
import { listProducts } from "../../../store/metadata/products/products.js";
import { findHits, hitTypes } from "../../../store/metadata/search-hits.js";
import { listTasks } from "../../../store/metadata/tasks.js";
import { listApiKeys } from "../../../store/metadata/users/api-keys.js";
import { listUsers } from "../../../store/metadata/users/users.js";
import { repositoryRoot } from "../../repository.js";
import { assert, suite, withTempDir } from "../../suite.js";

type List = (db: Db, request: PageRequest) => Promise<unknown>;
interface Asked {
  readonly name: string;
  readonly list: List;
  /** Filters of which lists are asked often. */
  readonly filters: readonly string[];
}

const key = createVault(Buffer.alloc(32));
const ofProduct = ["productIntID", "productID"];
const noTest = () => true;
const devices =
  (list: typeof listDevices): List =>
  (db, request) =>
    list({ db, vault: key }, 1, request);

const gateways: List = (db, request) => listGateways({ db, vault: key }, 1, request);

const lists: readonly Asked[] = [
  {
    name: "listDevices",
    list: devices(listDevices),
    filters: [...ofProduct, "deviceID", "gateway", "parentDevice"],
  },
  { name: "listEveryDevice", list: devices(listEveryDevice), filters: [...ofProduct, "deviceID"] },
  { name: "listGateways", list: gateways, filters: [...ofProduct, "deviceID"] },
  { name: "listProducts", list: (db, request) => listProducts(db, 1, request, true), filters: ["productID"] },
  {
    name: "listGroups",
    list: (db, request) => listGroups(db, 1, request),
    filters: ["groupID", "productIntID"],
  },
  { name: "listCarriedDevices", list: (db, request) => listCarriedDevices(db, 1, 1, request), filters: [] },
  { name: "listUsers", list: (db, request) => listUsers(db, 1, request), filters: ["username"] },
  { name: "listApiKeys", list: (db, request) => listApiKeys(db, 1, request), filters: [] },
  { name: "listCerts", list: (db, request) => listCerts(db, 1, request), filters: [] },
  { name: "listCertsOfDevice", list: (db, request) => listCertsOfDevice(db, 1, request, 1), filters: [] },
  { name: "listPolicies", list: (db, request) => listPolicies(db, 1, request), filters: [] },
  {
    name: "listSubscriptions",
    list: async (db, request) => {
      for (const column of ["deviceIntID", "productIntID", "groupIntID"] as const) {
        await listSubscriptions(db, 1, request, { column, id: 1 });
      }
    },
    filters: ["topic"],
  },
  { name: "listAppTemplates", list: (db, request) => listAppTemplates(db, 1, request), filters: ofProduct },
  {
    name: "listProductResources",
    list: (db, request) => listProductResources(db, 1, request),
    filters: ofProduct,
  },
  { name: "listDataPoints", list: (db, request) => listDataPoints(db, 1, request), filters: ofProduct },
  { name: "listDataStreams", list: (db, request) => listDataStreams(db, 1, request), filters: ofProduct },
  { name: "listMetrics", list: (db, request) => listMetrics(db, 1, request), filters: ofProduct },
  {
    name: "listAlertRules",
    list: (db, request) => listAlertRules(db, 1, request),
    filters: ["dataPointIntID"],
  },
  {
    name: "listAlerts",
    list: async (db, request) => {
      await listAlerts(db, 1, "current", request);
      await listAlerts(db, 1, "history", request);
    },
    filters: ["deviceIntID", "deviceID"],
  },
  { name: "listContactPoints", list: (db, request) => listContactPoints(db, 1, request), filters: [] },
  { name: "listAlertRoutes", list: (db, request) => listAlertRoutes(db, 1, request), filters: [] },
  { name: "listSilences", list: (db, request) => listSilences(db, 1, request), filters: [] },
  {
    name: "listNotifications",
    list: (db, request) => listNotifications(db, 1, request),
    filters: ["contactPointIntID"],
  },
  { name: "listTasks", list: (db, request) => listTasks(db, 1, request), filters: ["kind", "state"] },
  { name: "listDashboards", list: (db, request) => listDashboards(db, 1, request), filters: ["name"] },
  { name: "listRevisions", list: (db, request) => listRevisions(db, 1, request, 1), filters: ["version"] },
  { name: "listShares", list: (db, request) => listShares(db, 1, request, 1), filters: [] },
  { name: "listChanges", list: (db, request) => listChanges(db, 1, request), filters: [] },
  {
    name: "listSchedules",
    list: async (db, request) => {
      await listSchedules(db, 1, request, null);
      await listSchedules(db, 1, request, { deviceIntID: 1 });
      await listSchedules(db, 1, request, { groupIntID: 1 });
    },
    filters: [],
  },
  {
    name: "listControlLogs",
    list: async (db, request) => {
      await listControlLogs(db, 1, null, request, noTest);
      await listControlLogs(db, 1, [1], request, noTest);
      await listControlLogs(db, 1, [1, 2], request, noTest);
    },
    filters: ["deviceIntID"],
  },
  {
    name: "listGroupControlLogs",
    list: (db, request) => listGroupControlLogs(db, 1, request, noTest),
    filters: [],
  },
];

/** A list that is not one of records, or that others stand on. */
const others = new Set([
  "listTenants",
  "listBounded",
  "listOfDevices",
  "listRows",
  "listKind",
  "listWhere",
  "listFleet",
  "listCommonNames",
  "listEnabledCerts",
  "listGroupMembers",
  "listLinks",
  "listPatterns",
  "listProductAlertRules",
  "listProductDataPoints",
  "listProductDataStreams",
  "listProductMetrics",
  "listRemovals",
  "listTerms",
  "listTrigrams",
  "listWays",
]);

const fleetFilters: readonly FleetRequest["filters"][] = [
  {},
  { productIntID: 1 },
  { deviceStatus: 0 },
  { blocked: 1 },
  { kind: "gateway" },
  { groupIntID: 1 },
  { hasAlert: 1 },
  { hasAlert: 0 },
  { q: "boiler" },
];

const fewSorted = /\bfrom json_each\(|\bfrom fleet_count\b/;

/** A page of the fleet, which asks by steps too; so few rows are counted that the order is walked as well. */
const fleet =
  (sort: FleetRequest["sort"], filters: FleetRequest["filters"]): List =>
  async (db, { page, limit }) => {
    const key = sort.field === "deviceName" || sort.field === "deviceID" ? "a" : 1;
    const request = { filters, sort, limit, facets: true };
    for (const countedMax of [10_000, -1]) {
      await listFleet({ db }, 1, { ...request, after: { key, id: 5 }, offset: 0 }, countedMax);
      await listFleet({ db }, 1, { ...request, after: null, offset: page * limit }, countedMax);
    }
  };

/** More than a page and what is looked for beyond it, so that the rows are counted too. */
const ids = Array.from({ length: 500 }, (_, i) => ({ id: 500 - i }));

/** The db, which notes what it is asked; every page is full. */
function noting(db: Db, asked: Statement[]): Db {
  const all: Db["all"] = async (sql, args = []) => {
    asked.push({ sql, args });
    return /^select r\.id from/.test(sql) ? (ids as never) : db.all(sql, args);
  };
  const answerTo = ({ sql }: Statement): object[] => {
    if (/^select r\.id from/.test(sql)) return ids;
    return /^select (count|coalesce)\(/.test(sql) ? [{ n: 1 }] : [];
  };
  const snapshot: Db["snapshot"] = async (statements) => {
    asked.push(...statements);
    return statements.map(answerTo);
  };
  return {
    ...db,
    all,
    first: async (sql, args) => (await all(sql, args))[0] as never,
    snapshot,
    lookUp: snapshot,
    inStep: async (sql, args = []) => {
      asked.push({ sql, args });
      return db.inStep(sql, args);
    },
  };
}

/** The rows of one page, or the few of one record, are named by their ids and sorted; blocks of ids are some hundred. */
const isShort = /\bid in\s+\(select|\bfrom device_block\b/;

/** A walk over all tenants' rows: of the table, or down its ids from the page's first. */
const wholeTable = /^SCAN (?!.*(COVERING INDEX|VIRTUAL TABLE|\(subquery))|INTEGER PRIMARY KEY \(rowid<\?\)/;

/** The steps of a plan that read a whole table, or sort it. */
async function badSteps(db: Db, { sql, args = [] }: Statement): Promise<string[]> {
  const steps = await db.all<{ detail: string }>(`explain query plan ${sql}`, args);
  return steps
    .map(({ detail }) => detail)
    .filter((detail) => wholeTable.test(detail) || (detail.includes("TEMP B-TREE") && !isShort.test(sql)));
}

suite("plans of lists", (test) => {
  test("every list of the metadata is here", () => {
    const folder = join(repositoryRoot(), "store", "metadata");
    const found = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".ts"))
      .flatMap((path) => [...readFileSync(join(folder, path), "utf8").matchAll(/function (list[A-Z]\w*)/g)])
      .map(([, name = ""]) => name)
      .filter((name) => !others.has(name));
    assert.equal(found.sort(), lists.map(({ name }) => name).sort());
  });

  test("neither does the fleet, in each of its orders and by each of its filters", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
      const bad: string[] = [];
      for (const field of fleetFields) {
        for (const descending of [false, true]) {
          for (const filters of fleetFilters) {
            const asked: Statement[] = [];
            const sort = { field, descending };
            await fleet(sort, filters)(noting(db, asked), { page: 5, limit: 10, filters: [] });
            assert.ok(asked.length > 4);
            for (const statement of asked) {
              for (const step of await badSteps(db, statement)) {
                // The rows of a step; few rows, or the counts of products, are sorted.
                if (/^SCAN [cf]$/.test(step) || (/B-TREE/.test(step) && fewSorted.test(statement.sql)))
                  continue;
                bad.push(
                  `${field} by ${Object.keys(filters)}: ${step}: ${statement.sql.replace(/\s+/g, " ")}`,
                );
              }
            }
          }
        }
      }
      assert.equal([...new Set(bad)], []);
      await db.close();
    }));

  test("a search looks at the newest rows of each type", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
      const asked: Statement[] = [];
      for (const q of ["boiler", "b"]) await findHits(noting(db, asked), 1, q, new Set(hitTypes), 20);
      const steps = (await Promise.all(asked.map((one) => badSteps(db, one)))).flat();
      // Few rows: what those that are looked at have in common is sorted.
      assert.equal(
        steps.filter((step) => !/^SCAN [cr]$|B-TREE FOR ORDER BY/.test(step)),
        [],
      );
      await db.close();
    }));

  test("neither the first page nor one far down scans or sorts, with and without its common filters", () =>
    withTempDir(async (dir) => {
      const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
      const bad: string[] = [];
      for (const { name, list, filters } of lists) {
        for (const field of [null, ...filters]) {
          for (const page of [1, 5000]) {
            const asked: Statement[] = [];
            const chosen =
              field === null ? [] : [{ field, like: false, value: field.endsWith("IntID") ? 1 : "a" }];
            await list(noting(db, asked), { page, limit: 10, filters: chosen });
            assert.ok(asked.length > 0, name);
            for (const statement of asked) {
              for (const step of await badSteps(db, statement)) {
                bad.push(`${name} by ${field ?? "nothing"}: ${step}: ${statement.sql.replace(/\s+/g, " ")}`);
              }
            }
          }
        }
      }
      assert.equal([...new Set(bad)], []);
      await db.close();
    }));
});
