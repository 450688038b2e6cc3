/** Which attempts count, and for whom the slow hash is computed. */
import { createPasswords } from "../../src/http/passwords.js";
import type { SlowSecrets } from "../../src/http/slow-secrets.js";
import { StoreError } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import { assert, rejects, suite } from "../suite.js";

suite("passwords", (test) => {
  const here = "192.0.2.1";
  /** Knows one user, ada. `busy`: the queue of slow hashes is full. */
  function open() {
    const payers: string[] = [];
    const state = { busy: false, known: new Set<string>() };
    const db = {
      first: async (_sql: string, [name]: readonly unknown[]) =>
        name === "ada" ? { id: 1, username: "ada", passwordHash: "scrypt:ada" } : undefined,
    } as unknown as Db;
    const secrets: SlowSecrets = {
      recall: (secret, hash) => (state.known.has(hash) ? secret === "right" : undefined),
      verify: async (secret, hash, payer) => {
        if (state.busy) throw new StoreError("UNAVAILABLE", "too many wait");
        payers.push(payer);
        return hash === "scrypt:ada" && secret === "right";
      },
      add: () => undefined,
    };
    return { ...createPasswords(db, () => 0, secrets), payers, state };
  }

  test("what nobody could check is no failed attempt", async () => {
    const { check, state } = open();
    state.busy = true;
    for (let i = 0; i < 20; i++) await rejects(() => check("ada", "wrong", here), /too many wait/);
    state.busy = false;
    for (let i = 0; i < 4; i++) assert.is(await check("ada", "wrong", here), null);
    assert.is((await check("ada", "right", here))?.id, 1);
    for (let i = 0; i < 5; i++) assert.is(await check("ada", "wrong", here), null);
    await rejects(() => check("ada", "right", here), /too many failed attempts/);
    assert.is((await check("ada", "right", "192.0.2.2"))?.id, 1);
  });

  test("unknown users cost what known ones do, each address in its own turns, a subscriber of IPv6 in one", async () => {
    const { check, payers } = open();
    for (const address of [here, "2001:db8::1", "2001:db8::2"]) {
      for (const name of ["ada", "bob", "ada\0"]) assert.is(await check(name, "wrong", address), null);
    }
    assert.equal(payers, [here, here, here, ...Array.from({ length: 6 }, () => "2001:db8:0:0::/64")]);
  });

  test("a password that was right before needs no turn; a wrong one is never told sooner", async () => {
    const { check, payers, state } = open();
    state.known.add("scrypt:ada");
    assert.is((await check("ada", "right", here))?.id, 1);
    assert.equal(payers, []);
    assert.is(await check("ada", "wrong", here), null);
    assert.equal(payers, [here]);
  });
});
