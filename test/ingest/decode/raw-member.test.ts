import fc from "fast-check";
import { rawMember } from "../../../ingest/decode/raw-member.js";
import { assert, suite } from "../../suite.js";

suite("raw member", (test) => {
  test("is the member's own text, in any object and however it is laid out", () => {
    const layouts = [undefined, 1, "\t"];
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom("payload", "topic", "a", "payloads", "pay"), fc.jsonValue(), {
          maxKeys: 4,
        }),
        fc.constantFrom(...layouts),
        (object, layout) => {
          const text = JSON.stringify(object, null, layout);
          const raw = rawMember(text, "payload");
          if (Object.hasOwn(object, "payload")) assert.equal(JSON.parse(raw ?? ""), JSON.parse(text).payload);
          else assert.is(raw, null);
        },
      ),
      { numRuns: 2000 },
    );
  });

  test("digits stay, the last of a name counts, escaped names are read", () => {
    assert.is(rawMember('{"p":12345678901234567890.10}', "p"), "12345678901234567890.10");
    assert.is(rawMember('{"p":1,"p":{"x":[2,"}"]} }', "p"), '{"x":[2,"}"]}');
    assert.is(rawMember('{"\\u0070":1}', "p"), "1");
    assert.is(rawMember('{"q":"\\"p\\":1"}', "p"), null);
  });
});
