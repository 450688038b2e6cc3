import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { StoreError } from "../../../../store/lib/errors.js";
import {
  createVault,
  equalText,
  hashChosen,
  hashGenerated,
  verifySecret,
} from "../../../../store/metadata/db/secrets.js";
import { assert, suite } from "../../../suite.js";

suite("secrets", (test) => {
  test("a vault opens what it sealed, and seals the same text differently each time", () => {
    const vault = createVault(randomBytes(32));
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const sealed = vault.seal(text);
        assert.is(vault.open(sealed), text);
        assert.not.equal(vault.seal(text), sealed);
      }),
    );
  });

  test("another key, and any changed or missing byte, is CORRUPT", () => {
    const key = randomBytes(32);
    const vault = createVault(key);
    const sealed = vault.seal("token of a device");
    const corrupt = (open: () => unknown, what: string): void => {
      try {
        open();
      } catch (error) {
        assert.ok(error instanceof StoreError && error.code === "CORRUPT", `${what}: ${error}`);
        return;
      }
      assert.unreachable(`${what} was opened`);
    };
    corrupt(() => createVault(randomBytes(32)).open(sealed), "another key");
    for (let at = 0; at < sealed.length; at++) {
      const changed = Uint8Array.from(sealed);
      changed[at] = (changed[at] as number) ^ 1;
      corrupt(() => vault.open(changed), `byte ${at}`);
    }
    for (let length = 0; length < sealed.length; length++) {
      corrupt(() => vault.open(sealed.slice(0, length)), `${length} bytes`);
    }
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
