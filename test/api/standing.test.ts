/** A caller who loses his rights during a request gets no session, key, user or password from it. */
import crypto from "node:crypto";
import { request } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { removeUsers, updateUser } from "../../store/metadata/users/users.js";
import { unique } from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, refused, worldSuite } from "../world.js";

const password = "correct horse";

worldSuite("callers who lose their rights during a request", (test, world) => {
  const scrypt = crypto.scrypt;
  /** Hashes that are done and whose callbacks wait, while `holds`. */
  const held: (() => void)[] = [];
  let holds = false;
  /** Another connection to the same metadata, which hashes nothing and sends this process no change. */
  let db: Db;
  const self = { tenant: 1, userIntID: null, username: null };

  test.before(async () => {
    const gated = (...args: unknown[]) => {
      const done = args.pop() as (...result: unknown[]) => void;
      const tell = (...result: unknown[]) => (holds ? held.push(() => done(...result)) : done(...result));
      (scrypt as (...all: unknown[]) => void)(...args, tell);
    };
    Object.assign(crypto, { scrypt: gated });
    syncBuiltinESMExports();
    db = await openDb({
      url: `file:${join(world.dataDir, "metadata.db")}`,
      shared: true,
      migrates: false,
    });
  });
  test.after(async () => {
    Object.assign(crypto, { scrypt });
    syncBuiltinESMExports();
    await db.close();
  });

  const make = (role = "admin"): Promise<Rec> =>
    world.make("/api/v1/users", { username: unique("user"), password, role });
  const loginOf = ({ username }: Rec) =>
    world.call("POST", "/api/v1/login", { username, password }, { key: null });
  const tokenOf = async (user: Rec): Promise<string> => String((await loginOf(user)).record.token);
  const keyOf = async (key: string): Promise<string> => {
    const { appID, appSecret } = await world.make("/api/v1/api_keys", {}, { key });
    return `${appID}:${appSecret}`;
  };
  const sessions = () => count("session");
  const count = async (table: string, where = "1") =>
    Number((await db.first<{ n: number }>(`select count(*) n from ${table} where ${where}`))?.n);
  /** Ways to put a user out. */
  const ways: Readonly<Record<string, (user: Rec) => Promise<unknown>>> = {
    password: ({ id }) => updateUser(db, self, Date.now(), id, { passwordHash: "scrypt:another:one" }),
    role: ({ id }) => updateUser(db, self, Date.now(), id, { role: "viewer" }),
    deletion: ({ id }) => removeUsers(db, self, Date.now(), [id]),
  };

  /** Between the slow hash and what is written by it. */
  async function meanwhile<T>(asks: () => Promise<T>, action: () => Promise<unknown>): Promise<T> {
    holds = true;
    const answer = asks();
    try {
      await until(() => held.length === 1, { what: "the slow hash" });
      await action();
    } finally {
      holds = false;
      for (const tell of held.splice(0)) tell();
    }
    return answer;
  }

  for (const [way, putOut] of Object.entries(ways)) {
    test(`a login under way makes no session: ${way}`, async () => {
      const user = await make();
      const before = await sessions();
      const reply = await meanwhile(
        () => loginOf(user),
        () => putOut(user),
      );
      refused(reply, "AUTH_FAILED", "token");
      assert.is(reply.text, (await loginOf({ id: 0, username: unique("nobody") })).text);
      assert.is(await sessions(), before);
    });

    test(`an administrator who is put out makes no user and no tenant with it: ${way}`, async () => {
      for (const [path, body] of [
        ["/api/v1/users", () => ({ username: unique("late"), password, role: "admin" })],
        ["/api/v1/tenants", () => ({ tenantName: unique("late"), username: unique("late") })],
      ] as const) {
        const user = await make();
        const key = await tokenOf(user);
        const before = [await count("user"), await count("tenant")];
        const reply = await meanwhile(
          () => world.call("POST", path, body(), { key }),
          () => putOut(user),
        );
        refused(reply, "AUTH_FAILED", "token");
        const gone = way === "deletion" ? 1 : 0;
        assert.equal([await count("user"), await count("tenant")], [(before[0] ?? 0) - gone, before[1]]);
      }
    });

    test(`nor a password of another: ${way}`, async () => {
      const [user, other] = [await make(), await make("viewer")];
      const key = await tokenOf(user);
      const reply = await meanwhile(
        () => world.call("PUT", `/api/v1/users/${other.id}`, { password: "paper clip" }, { key }),
        () => putOut(user),
      );
      refused(reply, "AUTH_FAILED", "token");
      assert.is((await loginOf(other)).status, 201);
    });

    test(`nor an API key, whose body comes slowly: ${way}`, async () => {
      const user = await make();
      const key = await tokenOf(user);
      const before = await count("api_key");
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const slow = request(`${world.http}/api/v1/api_keys`, {
          method: "POST",
          headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
        });
        slow.on("response", (answer) => resolve(answer.resume().statusCode)).on("error", reject);
        slow.write('{"role":');
        setTimeout(() => void putOut(user).then(() => slow.end('"admin"}'), reject), 50);
      });
      assert.equal([status, await count("api_key")], [401, before]);
    });
  }

  test("a key that was revoked, or whose user was demoted, promotes nobody by a request under way", async () => {
    for (const putOut of [
      ({ id }: Rec) => updateUser(db, self, Date.now(), id, {}, { revokesApiKeys: true }),
      ({ id }: Rec) => updateUser(db, self, Date.now(), id, { role: "operator" }),
    ]) {
      const user = await make();
      const key = await keyOf(await tokenOf(user));
      const reply = await meanwhile(
        () =>
          world.call("PUT", `/api/v1/users/${user.id}`, { role: "admin", password: "paper clip" }, { key }),
        () => putOut(user),
      );
      refused(reply, "AUTH_FAILED", "token");
      assert.is((await loginOf(user)).status, 201, "the password is the one it was");
    }
  });

  test("a change of one's own password does not undo the one that an administrator has set meanwhile", async () => {
    const user = await make("viewer");
    const key = await tokenOf(user);
    const body = { password, newPassword: "battery staple" };
    // The old password is verified already, so that only the new one is hashed.
    const reply = await meanwhile(
      () => world.call("PUT", "/api/v1/me/password", body, { key }),
      () => ways.password?.(user) ?? Promise.reject(new Error("no such way")),
    );
    refused(reply, "PARAMETER_INVALID", "password");
    assert.is(await count("user", `id = ${user.id} and passwordHash = 'scrypt:another:one'`), 1);
  });

  test("who is not put out is not held up: sessions and keys edit users, themselves too", async () => {
    const user = await make();
    const token = await tokenOf(user);
    for (const [key, body] of [
      [await keyOf(token), { role: "admin" }],
      [token, { role: "admin", password }],
    ] as const) {
      const put = await world.call("PUT", `/api/v1/users/${user.id}`, body, { key });
      assert.is(put.status, 200, put.text);
    }
    refused(await world.call("GET", "/api/v1/me", undefined, { key: token }), "AUTH_FAILED");
  });
});
