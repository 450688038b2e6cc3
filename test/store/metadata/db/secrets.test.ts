import { createDecipheriv, randomBytes } from "node:crypto";
import fc from "fast-check";
import { StoreError } from "../../../../store/lib/errors.js";
import {
  createVault,
  equalText,
  formatPlace,
  hashChosen,
  hashGenerated,
  verifySecret,
} from "../../../../store/metadata/db/secrets.js";
import { assert, suite } from "../../../suite.js";
import { sealedBefore } from "./sealed-before.js";

suite("secrets", (test) => {
  test("a vault opens what it sealed, and seals the same text differently each time", () => {
    const vault = createVault(randomBytes(32));
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const sealed = vault.seal(text, "place");
        assert.is(vault.open(sealed, "place"), text);
        assert.not.equal(vault.seal(text, "place"), sealed);
      }),
    );
  });

  test("another key, and any changed or missing byte, is CORRUPT", () => {
    const key = randomBytes(32);
    const vault = createVault(key);
    const sealed = vault.seal("token of a device", "place");
    const corrupt = (open: () => unknown, what: string): void => {
      try {
        open();
      } catch (error) {
        assert.ok(error instanceof StoreError && error.code === "CORRUPT", `${what}: ${error}`);
        return;
      }
      assert.unreachable(`${what} was opened`);
    };
    corrupt(() => vault.open(sealed, "places"), "another place");
    corrupt(() => vault.openUnplaced(sealed), "another form");
    corrupt(() => createVault(randomBytes(32)).open(sealed, "place"), "another key");
    for (let at = 0; at < sealed.length; at++) {
      const changed = Uint8Array.from(sealed);
      changed[at] = (changed[at] as number) ^ 1;
      corrupt(() => vault.open(changed, "place"), `byte ${at}`);
    }
    for (let length = 0; length < sealed.length; length++) {
      corrupt(() => vault.open(sealed.slice(0, length), "place"), `${length} bytes`);
    }
  });

  test("the sealed form is 2, nonce, tag and cipher text of AES-256-GCM, with the place as associated data", () => {
    const key = randomBytes(32);
    const place = formatPlace("device.token", 7, 'gh "1"');
    assert.is(place, '["device.token",7,"gh \\"1\\""]');
    const sealed = createVault(key).seal("säkert", place);
    assert.is(sealed[0], 2);
    const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(1, 13));
    decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(13, 29));
    assert.is(decipher.update(sealed.subarray(29), undefined, "utf8") + decipher.final("utf8"), "säkert");
  });

  test("what was sealed for no place opens as that alone, and each refusal is reported with its place", () => {
    const key = randomBytes(32);
    const refused: string[] = [];
    const vault = createVault(key, (place) => refused.push(place));
    const old = sealedBefore(key, "token");
    assert.is(vault.openUnplaced(old), "token");
    assert.equal(refused, []);
    assert.throws(
      () => vault.open(old, "here"),
      /MASTER_KEY is not the one .*, or it was sealed for another/,
    );
    assert.throws(() => vault.open(vault.seal("token", "there"), "here"), /for another record/);
    assert.equal(refused, ["here", "here"]);
  });

  test("hashes of generated and chosen secrets verify, and nothing else does", async () => {
    const generated = hashGenerated("f00d");
    const chosen = await hashChosen("correct horse");
    assert.ok(await verifySecret("f00d", generated));
    assert.ok(await verifySecret("correct horse", chosen));
    assert.not.ok(await verifySecret("f00e", generated));
    assert.not.ok(await verifySecret("correct horse ", chosen));
    for (const hash of ["", "scrypt", "scrypt:", "md5:x:y", "sha256:"]) {
      assert.not.ok(await verifySecret("", hash), hash);
    }
    assert.is.not(await hashChosen("correct horse"), chosen, "salted");
  });

  test("texts of any length compare", () => {
    assert.ok(equalText("", ""));
    assert.ok(equalText("\ud83d\ude00", "😀"));
    assert.not.ok(equalText("a", "ab"));
    assert.not.ok(equalText("a", "b"));
  });
});
