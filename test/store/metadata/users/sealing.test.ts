/** Sealed values belong to their record; those of versions before are sealed anew at a start. */
import { randomBytes } from "node:crypto";
import { StoreError } from "../../../../store/lib/errors.js";
import { type Db, openDb } from "../../../../store/metadata/db/db.js";
import type { Vault } from "../../../../store/metadata/db/secrets.js";
import { createDevice, type DeviceStore, getDevice } from "../../../../store/metadata/devices/devices.js";
import {
  createContactPoint,
  openContactPoint,
  updateContactPoint,
} from "../../../../store/metadata/notifications/contact-points.js";
import { createCert, getCert } from "../../../../store/metadata/policies/certs.js";
import { createProduct } from "../../../../store/metadata/products/products.js";
import { keepAuthority, readAuthority } from "../../../../store/metadata/users/authority.js";
import { openVault } from "../../../../store/metadata/users/sealing.js";
import { createTenant } from "../../../../store/metadata/users/tenants.js";
import { assert, openTempDir, rejects, suite } from "../../../suite.js";
import { sealedBefore } from "../db/sealed-before.js";

const key = randomBytes(32);
const lora = { type: "otaa", appEUI: "0102030405060708", appKey: "f".repeat(32) };

suite("sealed values", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let db: Db;
  let vault: Vault;
  let actor = { tenant: 0, userIntID: null, username: null };
  let product = 0;

  test.before.each(async () => {
    dir = await openTempDir();
    db = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
    vault = await openVault(db, key);
    actor = { ...actor, tenant: (await createTenant(db, 0, "one")).id };
    product = (await createProduct(db, actor, 0, { productName: "p", description: null, cloudProtocol: 1 }))
      .id;
  });
  test.after.each(async () => {
    await db.close();
    await dir.close();
  });

  const makeDevice = async (name: string): Promise<number> => {
    const names = { deviceID: name, deviceName: name, deviceUsername: name, token: `token of ${name}` };
    return (await createDevice({ db, vault }, actor, 0, { ...names, productIntID: product, lora })).id;
  };
  const makePoint = async (name: string): Promise<number> => {
    const shown = {
      name,
      enable: 1,
      language: "en",
      settings: {},
      subjectTemplate: null,
      bodyTemplate: null,
    };
    const input = { ...shown, type: "webhook", secrets: { url: `https://${name}.example` } } as const;
    return (await createContactPoint({ db, vault }, actor, 0, input as never)).id;
  };
  const makeCert = async (name: string): Promise<number> => {
    const shown = { name, enable: 1, CN: `1:${name}`, cert: "c", root: "r", fingerprint: name, expiresAt: 1 };
    return (await createCert({ db, vault }, actor, 0, { ...shown, key: `key of ${name}` })).id;
  };
  /** What opens of all that is sealed, by a store of this vault. */
  async function opened(
    by: Vault,
    devices: readonly number[],
    points: readonly number[],
    certs: readonly number[],
  ): Promise<unknown> {
    const store: DeviceStore = { db, vault: by };
    const found = async (read: () => Promise<unknown>) =>
      read().catch((error: unknown) => {
        assert.ok(error instanceof StoreError && error.code === "CORRUPT", String(error));
        return "refused";
      });
    const all = [
      ...devices.map((id) => async () => {
        const device = await getDevice(store, actor.tenant, id);
        return [device.token, device.lora];
      }),
      ...points.map((id) => async () => (await openContactPoint(store, id))?.secrets),
      ...certs.map((id) => async () => (await getCert(store, actor.tenant, id)).key),
      async () => (await readAuthority(store))?.key,
    ];
    return Promise.all(all.map(found));
  }
  async function makeAll() {
    await keepAuthority({ db, vault }, 0, { cert: "authority", key: "key of the authority" });
    const devices = [await makeDevice("a"), await makeDevice("b")];
    const points = [await makePoint("p"), await makePoint("q")];
    return [devices, points, [await makeCert("c"), await makeCert("d")]] as const;
  }
  const whole = [
    ["token of a", lora],
    ["token of b", lora],
    { url: "https://p.example" },
    { url: "https://q.example" },
    "key of c",
    "key of d",
    "key of the authority",
  ];

  test("open in their own record; edited ones too", async () => {
    const all = await makeAll();
    assert.equal(await opened(vault, ...all), whole);
    const [point = 0] = all[1];
    const before = await openContactPoint({ db, vault }, point);
    assert.ok(before);
    await updateContactPoint({ db, vault }, actor, 1, before, {}, { url: "https://new.example" });
    assert.equal((await openContactPoint({ db, vault }, point))?.secrets, { url: "https://new.example" });
  });

  test("swapped between records, columns or tenants they are refused, and each is reported once it is asked for", async () => {
    const all = await makeAll();
    const swap = (table: string, column: string) =>
      db.write([
        { sql: `create table swapped as select id, ${column} sealed from ${table}` },
        {
          sql: `update ${table} set ${column} = (select sealed from swapped s where s.id <> ${table}.id limit 1)`,
        },
        { sql: "drop table swapped" },
      ]);
    const refused: string[] = [];
    const watched = await openVault(db, key, (place) => refused.push(place));
    await swap("device", "token");
    await swap("contact_point", "secrets");
    await swap("cert", "key");
    await db.write([{ sql: "update authority set key = (select key from cert limit 1)" }]);
    assert.equal(await opened(watched, ...all), Array(7).fill("refused"));
    assert.is(refused.length, 7);
    assert.ok(refused.includes(`["device.token",${actor.tenant},"a"]`), String(refused));

    const other = (await createTenant(db, 0, "two")).id;
    const device = await makeDevice("moved");
    await db.write([{ sql: "update device set tenant = ? where id = ?", args: [other, device] }]);
    await rejects(() => getDevice({ db, vault }, other, device), /sealed for another record/);
  });

  /** Brings the values back to the form of versions before; `where` says which. */
  async function sealBefore(where = "true"): Promise<void> {
    const rows: [table: string, column: string, plainOf: (name: string) => string, isText: boolean][] = [
      ["device", "token", (name) => `token of ${name}`, false],
      ["device", "lora", () => JSON.stringify(lora), true],
      ["contact_point", "secrets", (name) => JSON.stringify({ url: `https://${name}.example` }), false],
      ["cert", "key", (name) => `key of ${name}`, false],
      ["authority", "key", () => "key of the authority", false],
    ];
    for (const [table, column, plainOf, isText] of rows) {
      const name = table === "device" ? "deviceName" : table === "authority" ? "cert" : "name";
      for (const row of await db.all<{ id: number; name: string }>(
        `select id, ${name} name from ${table} where ${where}`,
      )) {
        const old = sealedBefore(key, plainOf(row.name));
        const value = isText ? old.toString("base64") : old;
        await db.write([{ sql: `update ${table} set ${column} = ? where id = ?`, args: [value, row.id] }]);
      }
    }
    await db.write([{ sql: "update sealing set keyCheck = null" }]);
  }

  test("values of versions before are sealed anew once; later none of that form opens", async () => {
    const all = await makeAll();
    await sealBefore();
    assert.equal(await opened(vault, ...all), Array(7).fill("refused"));
    // Two processes may also start at once, or one may have ended half way.
    const [first, second] = await Promise.all([openVault(db, key), openVault(db, key)]);
    assert.equal(await opened(first, ...all), whole);
    assert.equal(await opened(second, ...all), whole);
    await sealBefore("id = 1");
    assert.equal(await opened(await openVault(db, key), ...all), whole);

    const old = sealedBefore(key, "token of a");
    await db.write([{ sql: "update device set token = ? where deviceID = 'b'", args: [old] }]);
    const [, b] = (await opened(await openVault(db, key), ...all)) as unknown[];
    assert.is(b, "refused", "one that somebody has put there since");
  });

  test("2,000 devices in steps; one that does not open holds up no other", async () => {
    const statements = Array.from({ length: 2000 }, (_, n) => ({
      sql: `insert into device (tenant, deviceID, deviceName, deviceUsername, token, productIntID, createAt)
        values (?, ?, ?, ?, ?, ?, 0)`,
      args: [actor.tenant, `d${n}`, `d${n}`, `d${n}`, sealedBefore(key, `token ${n}`), product],
    }));
    await db.write(statements);
    await db.write([
      { sql: "update device set token = x'00' where deviceID = 'd5'" },
      { sql: "update sealing set keyCheck = null" },
    ]);
    const store = { db, vault: await openVault(db, key) };
    const ids = await db.all<{ id: number }>("select id from device order by id");
    let refused = 0;
    for (const [n, { id }] of ids.entries()) {
      const token = await getDevice(store, actor.tenant, id).then(
        (device) => device.token,
        () => null,
      );
      if (token === null) refused++;
      else assert.is(token, `token ${n}`);
    }
    assert.is(refused, 1);
  });

  test("another master key is reported before anything is changed", async () => {
    const all = await makeAll();
    const other = randomBytes(32);
    await rejects(() => openVault(db, other), /MASTER_KEY is not the one/);
    await sealBefore();
    await rejects(() => openVault(db, other), /cannot open any sealed secret: MASTER_KEY/);
    assert.equal(await opened(await openVault(db, key), ...all), whole);
  });
});
