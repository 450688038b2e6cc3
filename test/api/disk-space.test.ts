import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createDiskSpace, spareBytes } from "../../src/http/disk-space.js";
import { ApiError } from "../../src/http/errors.js";
import { assert, openTempDir, suite } from "../suite.js";

const mebi = 2 ** 20;
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => "ok",
    (error: unknown) => (error instanceof ApiError ? error.errorCode : String(error)),
  );

/** A disk of so many spare bytes, whose files are what was let in. */
function disk(spare: number) {
  const written = { bytes: 0 };
  const space = createDiskSpace("/nowhere", async () => spare - written.bytes);
  const writer = (tenant: number, file: string) => {
    const claim = space.claim(tenant, file);
    return async (bytes: number) => {
      await claim.grow(bytes);
      written.bytes += bytes;
    };
  };
  return { space, writer, written };
}

suite("space on the disk", (test) => {
  test("writers at once never take more than is spare, though the disk does not know of them yet", async () => {
    const { space, written } = disk(40 * mebi);
    const claims = Array.from({ length: 100 }, (_, i) => space.claim(i, `${i}`));
    const outcomes = await Promise.all(claims.map((claim) => codeOf(claim.grow(65_536))));
    assert.is(written.bytes, 0);
    assert.is(outcomes.filter((one) => one === "ok").length, 40, "a step each");
    assert.equal(new Set(outcomes), new Set(["ok", "SERVICE_UNAVAILABLE"]));
    for (const claim of claims) claim.settle();
    assert.is(await codeOf(space.claim(999, "later").grow(30 * mebi)), "ok");
  });

  test("a tenant alone gets nearly all and leaves room to others; what is removed is free again", async () => {
    const { space, writer, written } = disk(80 * mebi);
    const greedy = writer(1, "greedy");
    let outcome = "ok";
    while (outcome === "ok") outcome = await codeOf(greedy(mebi));
    assert.is(outcome, "RESOURCE_LIMITED");
    assert.is(written.bytes, 70 * mebi);
    assert.is(await codeOf(writer(2, "modest")(5 * mebi)), "ok");
    await space.remove("greedy");
    written.bytes -= 70 * mebi;
    assert.equal([space.held(1), space.held(2)], [0, 5 * mebi]);
    assert.is(await codeOf(greedy(60 * mebi)), "ok", "one that is gone counts for nobody");
    assert.is(space.held(1), 0);
  });

  test("what is there at a start counts", async () => {
    const dir = await openTempDir();
    await writeFile(join(dir.path, "rows"), Buffer.alloc(3 * mebi));
    const space = createDiskSpace(dir.path, async () => 100 * mebi);
    await space.adopt(1, "rows");
    await space.adopt(1, "rows");
    assert.is(space.held(1), 3 * mebi);
    await space.remove("rows");
    await space.remove("rows");
    assert.is(space.held(1), 0);
    await dir.close();
  });

  test("what the journal needs is not spare", async () => {
    const dir = await openTempDir();
    const [little, none] = [await spareBytes(dir.path, 0), await spareBytes(dir.path, 2 ** 50)];
    assert.ok(little > 0);
    assert.ok(none < 0);
    const full = createDiskSpace(dir.path, () => spareBytes(dir.path, 2 ** 50));
    let failure: unknown;
    await full.check().catch((error: unknown) => {
      failure = error;
    });
    assert.match(String(failure), /the disk is too full/);
    await dir.close();
  });
});
