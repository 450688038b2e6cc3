import { addressBlock, canonicalAddress } from "../../../ingest/access/address-block.js";
import type { Denied } from "../../../ingest/access/credentials.js";
import { createGuessBackOff } from "../../../ingest/access/guess-back-off.js";
import { type GuessGuard, guardGuessing } from "../../../ingest/access/guessing.js";
import { createVerifiedLogins } from "../../../ingest/access/verified-logins.js";
import type { DeviceEntry } from "../../../ingest/directory/entries.js";
import { assert, suite } from "../../suite.js";

const here = "192.0.2.1";
const there = "192.0.2.2";

suite("back-off", (test) => {
  let clock = 0;
  const now = () => clock;
  test.before.each(() => {
    clock = 1_000_000;
  });

  test("some failures are free, then each doubles the wait, up to five minutes", () => {
    const backOff = createGuessBackOff(now, 3);
    assert.equal(
      [1, 2, 3].map(() => backOff.attempt(here, "a")),
      [0, 0, 0],
    );
    const waits: number[] = [];
    for (let attempt = 0; attempt < 12; attempt++) {
      const wait = backOff.attempt(here, "a");
      waits.push(wait);
      clock += wait;
      assert.is(backOff.attempt(here, "a"), 0);
    }
    assert.equal(waits.slice(0, 4), [1000, 2000, 4000, 8000]);
    assert.equal(waits.slice(-2), [300_000, 300_000]);
  });

  test("others are not touched, a success clears, a wait is not prolonged by trying", () => {
    const backOff = createGuessBackOff(now, 1);
    backOff.attempt(here, "a");
    assert.equal([backOff.attempt(here, "a"), backOff.attempt(here, "b")], [1000, 0]);
    assert.is(backOff.attempt(there, "a"), 0);
    clock += 400;
    assert.is(backOff.attempt(here, "a"), 600);
    backOff.succeeded(here, "a");
    assert.is(backOff.attempt(here, "a"), 0);
  });

  test("what nobody could check is taken back", () => {
    const backOff = createGuessBackOff(now, 2);
    for (let i = 0; i < 10; i++) {
      assert.is(backOff.attempt(here, "a"), 0);
      backOff.undecided(here, "a");
    }
  });

  test("an address and a name are distinguished wherever one ends", () => {
    const backOff = createGuessBackOff(now, 1);
    backOff.attempt("1", "2 a");
    assert.equal([backOff.attempt("1 2", "a"), backOff.attempt("1", "2 a")], [0, 1000]);
  });

  test("an IPv6 subscriber is one address, however many of its own it takes", () => {
    const backOff = createGuessBackOff(now, 1);
    backOff.attempt("2001:db8:1:2::3", "a");
    assert.is(backOff.attempt("2001:db8:1:2:ffff::4", "a"), 1000);
    assert.is(backOff.attempt("2001:db8:1:3::3", "a"), 0);
    const blocks = {
      "::1": "0:0:0:0::/64",
      "2001:db8::": "2001:db8:0:0::/64",
      "1:2:3:4:5:6:7:8": "1:2:3:4::/64",
      "::5:6:7:8:9": "0:0:0:5::/64",
      "64:ff9b::1.2.3.4": "64:ff9b:0:0::/64",
      "1.2.3.4": "1.2.3.4",
      "": "",
    };
    for (const [address, block] of Object.entries(blocks)) assert.is(addressBlock(address), block);
    const spellings = { "::FFFF:1.2.3.4": "1.2.3.4", "::ffff:102:304": "1.2.3.4", "FE80::1%eth0": "fe80::1" };
    for (const [text, address] of Object.entries(spellings)) assert.is(canonicalAddress(text), address);
    for (const text of ["", "1.2.3", "a", "1.2.3.4:80", "[::1]", "01.2.3.4", " ::1"]) {
      assert.is(canonicalAddress(text), null, text);
    }
  });

  test("a flood of names takes nobody's wait away, and its own address pays when there is no place left", () => {
    const backOff = createGuessBackOff(now, 2, 64);
    for (let i = 0; i < 3; i++) backOff.attempt(here, "admin");
    const held = backOff.attempt(here, "admin");
    assert.ok(held > 0);
    backOff.attempt(there, "careful");
    let refused = 0;
    for (let i = 0; i < 10_100; i++) if (backOff.attempt(here, `name ${i}`) > 0) refused++;
    assert.is(backOff.attempt(here, "admin"), held, "the wait still runs");
    assert.ok(refused > 10_000, `${refused}`);
    assert.is(backOff.attempt(there, "careful"), 0, "the second of two free ones: it was counted all along");
    assert.ok(backOff.attempt(there, "careful") > 0);
    assert.is(backOff.attempt("192.0.2.3", "newcomer"), 0);
    assert.ok(backOff.attempt(here, "newcomer") > 0, "that address has been guessing");
    // A right one among them gives the others no further tries.
    backOff.succeeded(here, "another newcomer");
    clock += 300_000;
    assert.is(backOff.attempt(here, "newcomer"), 0, "those that rest give way");
  });

  test("places are found again among hundreds of others", () => {
    const backOff = createGuessBackOff(now, 1);
    const names = Array.from({ length: 100 }, (_, i) => `name ${i}`);
    const addresses = ["a", "b", "c"];
    for (const address of addresses) for (const name of names) assert.is(backOff.attempt(address, name), 0);
    for (const address of addresses)
      for (const name of names) assert.is(backOff.attempt(address, name), 1000);
  });
});

suite("guarding against guesses", (test) => {
  const device = (authType: number) => ({ id: 1, device: { authType } }) as DeviceEntry;
  const denied = (denial: Denied["denial"]): Denied => ({ denial, device: null });
  const open = (): GuessGuard => ({
    backOff: createGuessBackOff(() => 0, 2),
    proven: createVerifiedLogins(16),
  });
  const asking =
    (guard: GuessGuard, token = "right", hasCertificate = false) =>
    (found: DeviceEntry | Denied, address = here) =>
      guardGuessing(guard, { address, username: "user", token }, hasCertificate, async () => found);

  test("only wrong credentials count", async () => {
    const ask = asking(open(), "other");
    for (let i = 0; i < 5; i++) {
      assert.equal(await ask(denied("unavailable")), denied("unavailable"));
      assert.equal(await ask(denied("blocked")), denied("blocked"));
    }
    for (let i = 0; i < 2; i++) assert.equal(await ask(denied("credentials")), denied("credentials"));
    assert.equal(await ask(device(1)), denied("back_off"));
    assert.equal(await ask(denied("blocked"), there), denied("blocked"));
  });

  test("a token that was right before gets in during a wait, which it does not end", async () => {
    const guard = open();
    const [right, wrong] = [asking(guard), asking(guard, "wrong")];
    await right(device(1));
    for (let i = 0; i < 2; i++) await wrong(denied("credentials"));
    for (let i = 0; i < 3; i++) {
      assert.equal(await right(device(1)), device(1));
      assert.equal(await wrong(denied("credentials")), denied("back_off"));
    }
    assert.equal(await right(denied("blocked")), denied("blocked"));
    assert.equal(await right(denied("credentials")), denied("back_off"), "its token is another by now");
  });

  test("a certificate is no guess, and opens nothing for a token", async () => {
    const guard = open();
    const ask = asking(guard, "", true);
    for (let i = 0; i < 2; i++) await ask(denied("credentials"));
    assert.equal(await ask(device(2)), device(2));
    assert.equal(await ask(device(1)), denied("back_off"));
  });

  test("a verified login is found by name and proof together, and gives way to verified ones only", () => {
    const proven = createVerifiedLogins(2);
    assert.not(proven.has("a", "b"));
    proven.add("a", "b");
    assert.ok(proven.has("a", "b"));
    for (const [name, proof] of [
      ["a", "c"],
      ["b", "b"],
      ["ab", ""],
      ["", "ab"],
      ["a1 b", ""],
    ] as const) {
      assert.not(proven.has(name, proof), `${name} ${proof}`);
    }
    for (let i = 0; i < 1000; i++) proven.has(`a ${i}`, "guess");
    assert.ok(proven.has("a", "b"));
    for (let i = 0; i < 1000; i++) proven.add(`device ${i}`, "token");
    assert.ok(proven.has("device 999", "token"));
  });
});
