import fc from "fast-check";
import { createRecentIDs, recentIDsMax } from "../../../ingest/uplinks/recent-ids.js";
import { assert, suite } from "../../suite.js";

suite("recent ids", (test) => {
  test("the last thousand are known with their numbers, and no other", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 60 }), fc.nat({ max: 2500 }), (texts, more) => {
        const ids = createRecentIDs(() => true);
        const all = [...new Set([...texts, ...Array.from({ length: more }, (_, n) => `id-${n}`)])];
        for (const [n, id] of all.entries()) ids.add(id, n % 65_536);
        const known = all.slice(-recentIDsMax);
        for (const id of known) assert.is(ids.get(id), all.indexOf(id) % 65_536, id);
        for (const id of all.slice(0, -recentIDsMax)) assert.is(ids.get(id), undefined, id);
        assert.is(ids.get("another"), undefined);
      }),
      { numRuns: 30 },
    );
  });

  test("if not all fit, the newest of those that fit are known", () => {
    let left = 200;
    const ids = createRecentIDs((bytes) => {
      if (bytes > left) return false;
      left -= bytes;
      return true;
    });
    for (let n = 0; n < 500; n++) ids.add(`id-${n}`);
    const known = Array.from({ length: 500 }, (_, n) => n).filter((n) => ids.get(`id-${n}`) !== undefined);
    assert.ok(known.length >= 16 && known.length < 100, String(known.length));
    assert.equal(
      known,
      Array.from({ length: known.length }, (_, i) => 500 - known.length + i),
    );
    assert.ok(left >= 0);
  });
});
