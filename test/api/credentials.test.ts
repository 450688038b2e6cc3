/** What is remembered of verified credentials, for how long, and at what cost. */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { readConfig } from "../../src/config/config.js";
import { createTenantWithAdmin, ensureConfiguredKey } from "../../src/host/first-start.js";
import { type Authenticator, createAuthenticator } from "../../src/http/auth.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { longID, newSecret } from "../../store/metadata/db/ids.js";
import { hashGenerated } from "../../store/metadata/db/secrets.js";
import { createApiKey, removeApiKeys } from "../../store/metadata/users/api-keys.js";
import { createSession, removeSession } from "../../store/metadata/users/login-sessions.js";
import { createUser, getUser, type Role, updateUser } from "../../store/metadata/users/users.js";
import { assert, openTempDir, rejects, suite } from "../suite.js";

const address = "192.0.2.1";

suite("remembered credentials", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  let admin: { tenant: number; userIntID: number; username: string };
  let now = 0;
  const clock = { now: () => now, monotonic: () => now };
  /** Reads of the metadata and slow hashes so far. */
  let reads = 0;
  let hashes = 0;
  const scrypt = crypto.scrypt;

  test.before(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${join(dir.path, "metadata.db")}`, shared: false });
    const made = await createTenantWithAdmin(db, 1, "default", "admin", "a password");
    admin = { tenant: made.tenant.id, userIntID: made.admin.id, username: "admin" };
    const counted = (...args: Parameters<typeof scrypt>) => {
      hashes++;
      scrypt(...args);
    };
    Object.assign(crypto, { scrypt: counted });
    syncBuiltinESMExports();
  });
  test.after(async () => {
    Object.assign(crypto, { scrypt });
    syncBuiltinESMExports();
    await db.close();
    await dir.close();
  });
  test.before.each(() => {
    now = 1_000_000;
  });

  const counting = (): Db => ({
    ...db,
    lookUp: (statements) => {
      reads++;
      return db.lookUp(statements);
    },
  });
  const open = (chosen?: Parameters<typeof createAuthenticator>[2]) =>
    createAuthenticator(counting(), clock, chosen);

  async function makeKey(userIntID = admin.userIntID, role: Role = "admin", expiresAt: number | null = null) {
    const [appID, appSecret] = [longID(), newSecret()];
    const secretHash = hashGenerated(appSecret);
    const { id } = await createApiKey(db, admin, 1, {
      userIntID,
      name: null,
      appID,
      secretHash,
      role,
      expiresAt,
    });
    return { id, authorization: `Bearer ${appID}:${appSecret}` };
  }
  async function makeUser(username: string) {
    const { id } = await createUser(db, admin, 1, { username, passwordHash: "", role: "admin" });
    return id;
  }
  async function makeSession(userIntID: number) {
    const token = newSecret();
    const tokenHash = hashGenerated(token);
    const user = await getUser(db, admin.tenant, userIntID);
    assert.ok(await createSession(db, user, tokenHash, { createAt: 1, expiresAt: 9e12, endsAt: null }));
    return { tokenHash, authorization: `Bearer ${token}` };
  }
  /** How many reads of the metadata a call with it takes. */
  async function cost(authenticator: Authenticator, { authorization }: { authorization: string }) {
    const before = reads;
    await authenticator.caller(authorization, address);
    return reads - before;
  }

  test("a credential is verified once in 60 s", async () => {
    const authenticator = open();
    const key = await makeKey();
    const session = await makeSession(admin.userIntID);
    for (const one of [key, session])
      assert.equal([await cost(authenticator, one), await cost(authenticator, one)], [1, 0]);
    now += 59_999;
    for (const one of [key, session]) assert.is(await cost(authenticator, one), 0);
    now += 1;
    for (const one of [key, session]) assert.is(await cost(authenticator, one), 1);
  });

  test("requests that come together are verified once", async () => {
    const authenticator = open();
    const { authorization } = await makeKey();
    const before = reads;
    await Promise.all(Array.from({ length: 50 }, () => authenticator.caller(authorization, address)));
    assert.is(reads - before, 1);
  });

  test("a revoked key, a logged out session, a changed user are forgotten, and nobody else", async () => {
    const authenticator = open();
    const other = await makeUser("other");
    const all = {
      revoked: await makeKey(),
      key: await makeKey(),
      session: await makeSession(admin.userIntID),
      ended: await makeSession(admin.userIntID),
      othersKey: await makeKey(other),
      othersSession: await makeSession(other),
    };
    for (const one of Object.values(all)) await cost(authenticator, one);
    const unmoved = async (...names: (keyof typeof all)[]) => {
      for (const name of names) assert.is(await cost(authenticator, all[name]), 0, name);
    };

    await removeApiKeys(db, admin, now, [all.revoked.id]);
    authenticator.forget({ apiKey: all.revoked.id });
    await rejects(() => authenticator.caller(all.revoked.authorization, address), /credentials/);
    await unmoved("key", "session", "ended", "othersKey", "othersSession");

    await removeSession(db, all.ended.tokenHash);
    authenticator.forget({ session: all.ended.tokenHash });
    await rejects(() => authenticator.caller(all.ended.authorization, address), /credentials/);
    await unmoved("key", "session", "othersKey", "othersSession");

    await updateUser(db, admin, now, other, { role: "viewer" });
    authenticator.forget({ user: other });
    await rejects(() => authenticator.caller(all.othersSession.authorization, address), /credentials/);
    assert.is((await authenticator.caller(all.othersKey.authorization, address)).role, "viewer");
    await unmoved("key", "session");
  });

  test("a key may do what the lower of its own and its user's role may", async () => {
    const authenticator = open();
    const roles: readonly Role[] = ["admin", "operator", "viewer"];
    for (const [i, own] of roles.entries()) {
      for (const [j, users] of roles.entries()) {
        const { id } = await createUser(db, admin, 1, {
          username: `${own}-${users}`,
          passwordHash: "",
          role: users,
        });
        const { authorization } = await makeKey(id, own);
        assert.is((await authenticator.caller(authorization, address)).role, roles[Math.max(i, j)]);
      }
    }
  });

  test("an expired key is out, though it is remembered", async () => {
    const authenticator = open();
    const key = await makeKey(admin.userIntID, "admin", now + 10);
    assert.equal([await cost(authenticator, key), await cost(authenticator, key)], [1, 0]);
    now += 10;
    await rejects(() => authenticator.caller(key.authorization, address), /credentials/);
  });

  test("what is forgotten while it is being verified is not remembered", async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: Db = {
      ...db,
      lookUp: async (statements) => {
        const rows = await db.lookUp(statements);
        await gate;
        return rows;
      },
    };
    const authenticator = createAuthenticator(slow, clock);
    const [gone, stays] = [await makeKey(), await makeKey()];
    const asked = [gone, stays].map(({ authorization }) => authenticator.caller(authorization, address));
    await removeApiKeys(db, admin, now, [gone.id]);
    authenticator.forget({ apiKey: gone.id });
    release();
    const [late] = await Promise.allSettled([authenticator.caller(gone.authorization, address)]);
    const settled = await Promise.allSettled(asked);
    assert.is(
      late.status,
      "rejected",
      "a caller that comes after it was withdrawn does not get in with earlier callers",
    );
    assert.equal(
      settled.map(({ status }) => status),
      ["rejected", "fulfilled"],
    );
    await rejects(() => authenticator.caller(gone.authorization, address), /credentials/);
    await authenticator.caller(stays.authorization, address);
  });

  test("many credentials do not push each other out at once", async () => {
    const authenticator = open();
    const [first, second] = [await makeKey(), await makeKey()];
    await cost(authenticator, first);
    await cost(authenticator, second);
    // 9,999 further spellings of a third one.
    const { authorization } = await makeKey();
    for (let i = 0; i < 9_999; i++) {
      await authenticator.caller(authorization.replace("Bearer", `Bearer${" ".repeat(i + 1)}`), address);
    }
    assert.is(await cost(authenticator, second), 0);
    assert.is(await cost(authenticator, first), 1, "the oldest alone has gone");
  });

  test("a chosen API_KEY costs no slow hash on any request, right or wrong, remembered or not", async () => {
    const config = readConfig({ API_KEY: "chosen:the-first-secret-1" });
    const chosen = await ensureConfiguredKey(db, config, now);
    const authenticator = open(chosen);
    hashes = 0;
    for (let minute = 0; minute < 3; minute++) {
      const { role } = await authenticator.caller("Bearer chosen:the-first-secret-1", address);
      assert.is(role, "admin");
      await rejects(() => authenticator.caller("Bearer chosen:the-second-secret-2", address), /credentials/);
      authenticator.forget({ user: admin.userIntID });
      now += 61_000;
    }
    assert.is(hashes, 0);
  });

  test("a start leaves the chosen key as it is, and a new secret of the same key replaces the old one", async () => {
    const changes = async () => (await db.all("select id from change where entity = 'api_key'")).length;
    const first = readConfig({ API_KEY: "again:the-first-secret-1" });
    await ensureConfiguredKey(db, first, now);
    const before = await changes();
    const chosen = await ensureConfiguredKey(db, first, now);
    assert.is(await changes(), before);
    const running = open(chosen);
    await running.caller("Bearer again:the-first-secret-1", address);

    // Another process on the same metadata starts with another secret.
    const next = await ensureConfiguredKey(db, readConfig({ API_KEY: "again:the-second-secret-2" }), now);
    assert.is(await changes(), before + 1);
    now += 61_000;
    await rejects(() => running.caller("Bearer again:the-first-secret-1", address), /credentials/);
    await open(next).caller("Bearer again:the-second-secret-2", address);
    hashes = 0;
    for (let minute = 0; minute < 3; minute++) {
      await running.caller("Bearer again:the-second-secret-2", address);
      now += 61_000;
    }
    assert.is(hashes, 1, "the slow hash of another process is computed once");
  });
});
