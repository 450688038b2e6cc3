import { join } from "node:path";
import { toApiError } from "../../src/http/errors.js";
import { fileAnswer } from "../../src/http/file-answer.js";
import { appTemplateRoutes } from "../../src/routes/app-templates.js";
import { brokerAccessRoutes } from "../../src/routes/broker-access.js";
import { dataPointRoutes } from "../../src/routes/data-points.js";
import type { AppDeps } from "../../src/routes/deps.js";
import { getFormulaPoint } from "../../src/routes/formula-point.js";
import { ifNotFound, StoreError } from "../../store/lib/errors.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { createDataPoint } from "../../store/metadata/products/data-points.js";
import { createDataStream } from "../../store/metadata/products/data-streams.js";
import { createProduct } from "../../store/metadata/products/products.js";
import { createTenant } from "../../store/metadata/users/tenants.js";
import { assert, openTempDir, rejects, suite } from "../suite.js";

/** Metadata that answer until something is read from `table`. */
function awayAt(db: Db, table: string): Db {
  const check = (sql: string): void => {
    if (new RegExp(`\\bfrom ${table}\\b`).test(sql))
      throw new StoreError("UNAVAILABLE", "the metadata are away");
  };
  return {
    ...db,
    all: async (sql, args) => {
      check(sql);
      return db.all(sql, args);
    },
    lookUp: async (statements) => {
      for (const { sql } of statements) check(sql);
      return db.lookUp(statements);
    },
    first: async (sql, args) => {
      check(sql);
      return db.first(sql, args);
    },
  };
}

suite("an unavailable store is not a missing record", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  let caller = { tenant: 0, userIntID: null, username: null };
  let point = 0;
  let stream = 0;
  let product = 0;

  test.before(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
    caller = { ...caller, tenant: (await createTenant(db, 0, "one")).id };
    const made = { productName: "p", description: null, cloudProtocol: 1 };
    product = (await createProduct(db, caller, 0, made)).id;
    const input = { dataPointName: "Speed", pointDataType: 1, dataTransType: 1 };
    point = (await createDataPoint(db, caller, 0, product, "speed", input)).id;
    const fields = { streamName: "Out", streamType: 2, streamDataType: 1, topic: "out", detail: null };
    stream = (await createDataStream(db, caller, 0, product, { ...fields, dataPoints: [point] })).id;
  });
  test.after(async () => {
    await db.close();
    await dir.close();
  });

  /** What a route says to a request where that table is away. */
  const told = async (
    routes: (deps: AppDeps) => ReturnType<typeof dataPointRoutes>,
    method: string,
    table: string,
    input: { readonly params?: object; readonly query?: object; readonly body?: object },
  ): Promise<string> => {
    const deps = { db: awayAt(db, table), now: () => 0, stamp: () => null } as unknown as AppDeps;
    const found = routes(deps).find(({ spec }) => spec.method === method);
    if (found === undefined) throw new Error(`there is no ${method}`);
    const error = await rejects(async () => found.spec.handle({ caller, variant: "A", ...input } as never));
    return toApiError(error).errorCode;
  };

  test("an edit and a removal of a data point do not take a stream that cannot be looked for as none", async () => {
    const params = { id: String(stream) };
    const body = { dataPointName: "Other" };
    assert.is(await told(dataPointRoutes, "put", "data_stream", { params, body }), "SERVICE_UNAVAILABLE");
    const query = { ids: String(stream) };
    assert.is(await told(dataPointRoutes, "delete", "data_stream", { query }), "SERVICE_UNAVAILABLE");
    assert.is(
      await told(dataPointRoutes, "put", "nothing", { params: { id: "gone" }, body }),
      "DATA_NOT_FOUND",
    );
    assert.is(await told(dataPointRoutes, "delete", "nothing", { query: { ids: "gone" } }), "DATA_NOT_FOUND");
  });

  test("a formula's data point that cannot be read is not said to be missing", async () => {
    const away = await rejects(() => getFormulaPoint(awayAt(db, "data_point"), caller.tenant, point));
    assert.is(toApiError(away).errorCode, "SERVICE_UNAVAILABLE");
    const gone = await rejects(() => getFormulaPoint(db, caller.tenant, 99_999));
    assert.is(toApiError(gone).errorCode, "PARAMETER_INVALID");
    assert.is((await getFormulaPoint(db, caller.tenant, point)).id, point);
  });

  test("an app template's stream that cannot be read is not said to be missing", async () => {
    const body = { templateName: "t", templateType: 1, productIntID: product, dataPointIntID: point };
    const answer = (table: string, dataStreamIntID: number) =>
      told(appTemplateRoutes, "post", table, { body: { ...body, dataStreamIntID } });
    assert.is(await answer("data_stream", stream), "SERVICE_UNAVAILABLE");
    assert.is(await answer("nothing", 99_999), "PARAMETER_INVALID");
  });

  test("the external broker receives SERVICE_UNAVAILABLE, or INTERNAL_ERROR for an unforeseen error", async () => {
    const body = { username: "u", password: "p", clientid: "c", action: "publish", topic: "t" };
    const codes: string[] = [];
    for (const thrown of [new StoreError("UNAVAILABLE", "away"), new TypeError("a mistake of ours")]) {
      const asked = () => Promise.reject(thrown);
      const routes = (deps: AppDeps) =>
        brokerAccessRoutes({ ...deps, brokerAccess: { mayConnect: asked, may: asked } });
      for (const which of [0, 1]) {
        const only = (deps: AppDeps) => routes(deps).slice(which, which + 1);
        codes.push(await told(only, "post", "nothing", { body }));
      }
    }
    assert.equal(codes, ["SERVICE_UNAVAILABLE", "SERVICE_UNAVAILABLE", "INTERNAL_ERROR", "INTERNAL_ERROR"]);
  });

  test("a file is no longer there where it is missing, not where it cannot be opened", async () => {
    const codeOf = async (path: string) =>
      toApiError(await rejects(() => fileAnswer(path, "n", "text/csv"))).errorCode;
    assert.is(await codeOf(join(dir.path, "none")), "DATA_NOT_FOUND");
    assert.is(await codeOf(join(dir.path, "metadata.db", "none")), "INTERNAL_ERROR");
  });

  test("only NOT_FOUND counts as absent", () => {
    assert.is(ifNotFound(7)(new StoreError("NOT_FOUND", "cannot find it")), 7);
    for (const error of [
      new StoreError("UNAVAILABLE", "away"),
      new StoreError("CORRUPT", "bad"),
      new Error("x"),
    ]) {
      assert.throws(
        () => ifNotFound(7)(error),
        (thrown: Error) => thrown === error,
      );
    }
  });
});
