import { randomBytes } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { raiseAlerts, type Trigger } from "../../store/metadata/alerts/alerts.js";
import { openDb } from "../../store/metadata/db/db.js";
import { makeDevice, makeProduct, unique } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, stampPattern, worldSuite } from "../world.js";
import { unknownIDs } from "./resource.js";

const current = "/api/v1/current_alerts";
const history = "/api/v1/history_alerts";
const form = [
  ...["id", "alertName", "alertContent", "alertSeverity", "alertSeverityLabel", "alertTimes", "alertDetail"],
  ...["deviceID", "deviceName", "startTime", "createAt", "updateAt"],
];
const startedAt = Date.UTC(2026, 0, 2, 3, 4, 5);

// The service and the test share the metadata, as processes of one machine may.
const dir = mkdtempSync(join(tmpdir(), "alerts-"));
const url = `file:${join(dir, "metadata.db")}`;
const environment = { LIBSQL_URL: url, MASTER_KEY: randomBytes(32).toString("hex") };

worldSuite(
  "alerts",
  (test, world) => {
    test.after(() => rm(dir, { recursive: true, force: true }));

    let shared: Promise<Rec> | undefined;
    const device = (): Promise<Rec> => {
      shared ??= makeProduct(world).then((product) => makeDevice(world, product));
      return shared;
    };
    /** Stores an alert as a message of the device would, so many times. */
    const raise = async (of: Rec, fields: Partial<Trigger> = {}, times = 1): Promise<Rec> => {
      const alertName = fields.alertName ?? unique("alert");
      const trigger = {
        tenant: 1,
        deviceIntID: of.id,
        cause: unique("cause"),
        alertContent: "temp 51 > 50",
        alertSeverity: 2,
        alertDetail: JSON.stringify({ temp: 51 }),
        startTime: startedAt,
        ...fields,
        alertName,
      };
      const db = await openDb({ url, shared: true });
      for (let i = 0; i < times; i++)
        await db.write([raiseAlerts(startedAt + 1000, [{ ...trigger, times: 1, save: 0 }])]);
      await db.close();
      const { items } = (await world.call("GET", `${current}?alertName=${alertName}`)).page;
      return items[0] ?? { id: 0 };
    };
    const list = async (query: string) => (await world.call("GET", query)).page.items.map(({ id }) => id);
    const clear = (ids: string, key?: string) =>
      world.call("DELETE", `${current}?ids=${ids}`, undefined, key === undefined ? {} : { key });

    test("a current alert shows its fields; what goes on counts without moving updateAt", async () => {
      const of = await device();
      const alertDetail = { temp: 51, on: true, place: [1, 2], 名: "值" };
      const alert = await raise(of, { alertDetail: JSON.stringify(alertDetail), alertSeverity: 1 }, 3);
      hasKeys(alert, form);
      const expected = {
        alertContent: "temp 51 > 50",
        alertSeverity: 1,
        alertSeverityLabel: "紧急",
        alertTimes: 3,
        alertDetail,
        deviceID: of.deviceID,
        deviceName: of.deviceName,
        startTime: "2026-01-02 03:04:05",
        createAt: "2026-01-02 03:04:06",
        updateAt: null,
      };
      assert.equal({ ...alert, ...expected }, alert);
      assert.equal((await world.call("GET", `${current}/${alert.id}`)).record, alert);
      refused(await world.call("GET", `${history}/${alert.id}`), "DATA_NOT_FOUND");
    });

    test("every severity has its label", async () => {
      for (const [i, label] of ["紧急", "主要", "次要", "警告"].entries()) {
        assert.is((await raise(await device(), { alertSeverity: i + 1 })).alertSeverityLabel, label);
      }
    });

    test("clearing moves an alert to history: same id, an endTime, updateAt as it was", async () => {
      const alert = await raise(await device());
      assert.equal([(await clear(`${alert.id}`)).status, (await clear(`${alert.id}`)).status], [204, 404]);
      refused(await world.call("GET", `${current}/${alert.id}`), "DATA_NOT_FOUND");
      const moved = (await world.call("GET", `${history}/${alert.id}`)).record;
      hasKeys(moved, [...form, "endTime"]);
      assert.equal(moved, { ...alert, endTime: moved.endTime });
      assert.match(String(moved.endTime), stampPattern);
      const name = `alertName=${alert.alertName}`;
      assert.equal([await list(`${current}?${name}`), await list(`${history}?${name}`)], [[], [alert.id]]);
    });

    test("a trouble that comes again after it was cleared is a new alert", async () => {
      const trouble = { cause: "again", alertName: "again" };
      const first = await raise(await device(), trouble, 2);
      await clear(`${first.id}`);
      const second = await raise(await device(), trouble);
      assert.ok(second.id > first.id);
      assert.is(second.alertTimes, 1);
    });

    test("history alerts are removed for good; both deletes are all or nothing", async () => {
      const [a, b] = [await raise(await device()), await raise(await device())];
      for (const id of [...unknownIDs, ""]) {
        assert.ok([400, 404].includes((await clear(`${a.id},${id}`)).status));
      }
      refused(await world.call("DELETE", `${history}?ids=${a.id}`), "DATA_NOT_FOUND");
      assert.is((await clear(`${a.id}`)).status, 204);
      refused(await world.call("DELETE", `${history}?ids=${a.id},${b.id}`), "DATA_NOT_FOUND");
      refused(await clear(`${a.id},${b.id}`), "DATA_NOT_FOUND");
      assert.is((await clear(`${b.id},${b.id}`)).status, 204);
      const gone = await world.call("DELETE", `${history}?ids=${a.id},${b.id}`);
      assert.equal([gone.status, gone.text], [204, ""]);
      refused(await world.call("GET", `${history}/${a.id}`), "DATA_NOT_FOUND");
      refused(await world.call("DELETE", history), "PARAMETER_INVALID", "ids");
    });

    test("lists are pages, newest first, and filter by alert, device and product", async () => {
      const product = await makeProduct(world);
      const [one, two] = [await makeDevice(world, product), await makeDevice(world, product)];
      const a = await raise(one, { alertName: "温度超上限", alertSeverity: 3 });
      const b = await raise(two, { alertName: "湿度低于下限" }, 2);
      const of = `productID=${product.productID}`;
      const queries: Readonly<Record<string, readonly number[]>> = {
        "": [b.id, a.id],
        "_limit=1&_page=2": [a.id],
        "alertName_like=上限": [a.id],
        "alertSeverity=3": [a.id],
        "alertTimes=2": [b.id],
        [`deviceID=${two.deviceID}`]: [b.id],
        [`deviceName=${one.deviceName}`]: [a.id],
        [`deviceName_like=${String(one.deviceName).toUpperCase()}`]: [a.id],
        [`deviceIntID=${one.id}`]: [a.id],
        "alertContent_like=TEMP": [b.id, a.id],
        "alertName=none": [],
      };
      for (const path of [current, history]) {
        for (const [query, ids] of Object.entries(queries)) {
          assert.equal(await list(`${path}?${of}&${query}`), ids, `${path} ${query}`);
        }
        refused(await world.call("GET", `${path}?alertSeverity=x`), "PARAMETER_INVALID", "alertSeverity");
        if (path === current) await clear(`${a.id},${b.id}`);
      }
    });

    test("alerts go with their device", async () => {
      const own = await makeDevice(world, await makeProduct(world));
      const alert = await raise(own);
      assert.is((await world.call("DELETE", `/api/v1/devices?ids=${own.id}`)).status, 204);
      refused(await world.call("GET", `${current}/${alert.id}`), "DATA_NOT_FOUND");
    });

    test("another tenant's alerts are not there; a viewer reads, an operator clears", async () => {
      const alert = await raise(await device());
      const key = await world.otherTenant();
      assert.is((await world.call("GET", current, undefined, { key })).page.meta.count, 0);
      refused(await world.call("GET", `${current}/${alert.id}`, undefined, { key }), "DATA_NOT_FOUND");
      refused(await clear(`${alert.id}`, key), "DATA_NOT_FOUND");
      const viewer = await world.keyOf("viewer");
      assert.is((await world.call("GET", current, undefined, { key: viewer })).status, 200);
      refused(await clear(`${alert.id}`, viewer), "PERMISSION_DENIED");
      assert.is((await clear(`${alert.id}`, await world.keyOf("operator"))).status, 204);
      for (const id of unknownIDs) refused(await world.call("GET", `${current}/${id}`), "DATA_NOT_FOUND");
    });
  },
  environment,
);
