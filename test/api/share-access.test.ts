import { join } from "node:path";
import { ApiError } from "../../src/http/errors.js";
import { createShareAccess, type ShareAccess } from "../../src/http/share-access.js";
import { createDashboard } from "../../store/metadata/dashboards/dashboards.js";
import { createShare, findShare } from "../../store/metadata/dashboards/shares.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { newSecret } from "../../store/metadata/db/ids.js";
import { hashGenerated } from "../../store/metadata/db/secrets.js";
import { createStillClock, type SetClock } from "../clock.js";
import { assert, rejects, suite, until, withTempDir } from "../suite.js";

interface Fixture {
  readonly db: Db;
  readonly clock: SetClock;
  readonly access: ShareAccess;
  makeToken(): Promise<string>;
}

async function withAccess(work: (fixture: Fixture) => Promise<void>): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
    await db.write([
      { sql: "insert into tenant (id, tenantID, tenantName, createAt) values (1, 'a', 'A', 0)" },
    ]);
    const actor = { tenant: 1, userIntID: null, username: "u" };
    const { id } = await createDashboard(db, actor, 0, { name: "d", description: null, document: "{}" });
    const clock = createStillClock();
    const makeToken = async () => {
      const token = newSecret();
      const input = { name: "s", allowedOrigins: [], expiresAt: null, enable: 1 };
      await createShare(db, actor, 0, id, input, hashGenerated(token));
      return token;
    };
    await work({ db, clock, access: createShareAccess(db, clock), makeToken });
    await db.close();
  });
}

const refusal = async (enter: () => Promise<unknown>): Promise<ApiError> => {
  const error = await rejects(enter);
  if (error instanceof ApiError) return error;
  throw error;
};

suite("access by a share", (test) => {
  test("twenty a second and four at once of an address, twelve at once of a share: the next waits", () =>
    withAccess(async ({ clock, access, makeToken }) => {
      const [token, other] = [await makeToken(), await makeToken()];
      const enter = (of: string, address = "192.0.2.1") => access.enter(`Share ${of}`, address);
      const four = await Promise.all([1, 2, 3, 4].map(() => enter(token)));
      const fifth = enter(token);
      // Another screen does not stand behind it, until the whole share is in use.
      const others = await Promise.all([2, 2, 2, 2, 3, 3, 3, 3].map((i) => enter(token, `192.0.2.${i}`)));
      const thirteenth = enter(token, "192.0.2.9");
      assert.is((await enter(other)).share.tenant, 1);
      others[0]?.leave();
      (await thirteenth).leave();
      four[0]?.leave();
      (await fifth).leave();
      for (const { leave } of [...four.slice(1), ...others.slice(1)]) leave();
      for (let i = 5; i < 20; i++) (await enter(token)).leave();
      const late = await refusal(() => enter(token));
      assert.equal([late.errorCode, late.headers["Retry-After"]], ["TOO_MANY_REQUESTS", "1"]);
      clock.pass(1000);
      for (let i = 0; i < 20; i++) (await enter(token)).leave();
    }));

  test("no more than 32 of a share wait, and who is revoked meanwhile does not get in", () =>
    withAccess(async ({ db, access, makeToken }) => {
      const token = await makeToken();
      const enter = () => access.enter(`Share ${token}`, "192.0.2.1");
      const four = await Promise.all([1, 2, 3, 4].map(enter));
      const waiting = Array.from({ length: 32 }, () => refusal(enter));
      await until(async () => (await refusal(enter)).errorCode === "TOO_MANY_REQUESTS", {
        what: "a full queue",
      });
      await db.write([{ sql: "update dashboard_share set enable = 0" }]);
      for (const { leave } of four) leave();
      // As many as the second has left are looked up again; the rest have waited in vain.
      const codes = (await Promise.all(waiting)).map(({ errorCode }) => errorCode);
      assert.is(codes.filter((code) => code === "AUTH_FAILED").length, 16);
    }));

  test("nothing but a token in its form is looked up; guesses wait by address, right ones do not", () =>
    withAccess(async ({ access, makeToken }) => {
      const token = await makeToken();
      const code = async (authorization: string | undefined, address = "192.0.2.1") =>
        (await refusal(() => access.enter(authorization, address))).errorCode;
      for (const wrong of [
        undefined,
        "",
        "Share",
        `Bearer ${token}`,
        `Share  ${token}`,
        `Share ${token} x`,
      ]) {
        for (let i = 0; i < 10; i++) assert.is(await code(wrong), "AUTH_FAILED");
      }
      const codes: string[] = [];
      for (let i = 0; i < 8; i++) codes.push(await code(`Share ${newSecret()}`));
      assert.equal(new Set(codes.slice(0, 5)), new Set(["AUTH_FAILED"]));
      assert.is(codes.at(-1), "TOO_MANY_REQUESTS");
      assert.is(await code(`Share ${newSecret()}`, "198.51.100.1"), "AUTH_FAILED");
      (await access.enter(`share ${token}`, "192.0.2.1")).leave();
    }));

  test("its use is noted once a minute", () =>
    withAccess(async ({ db, clock, access, makeToken }) => {
      const token = await makeToken();
      const used = async () => (await findShare(db, hashGenerated(token)))?.lastUsedAt;
      const enter = async () => (await access.enter(`Share ${token}`, "192.0.2.1")).leave();
      await enter();
      const first = clock.now();
      await until(async () => (await used()) === first, { what: "the first use" });
      clock.pass(30_000);
      await enter();
      // A write after it is made after it.
      await db.write([{ sql: "select 1" }]);
      assert.is(await used(), first);
      clock.pass(30_000);
      await enter();
      await until(async () => (await used()) === clock.now(), { what: "the next one" });
    }));
});
