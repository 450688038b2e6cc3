import fc from "fast-check";
import { nearestName } from "../../../ingest/decode/suggest.js";
import { assert, suite } from "../../suite.js";

suite("what a key was meant to be", (test) => {
  test("the name that differs by case, or by a few letters", () => {
    const names = ["temp", "humidity", "t2", "Pressure", "__proto__"];
    const wanted: readonly (readonly [string, string | null])[] = [
      ["Temp", "temp"],
      ["tmep", "temp"],
      ["hmidity", "humidity"],
      ["humidty1", "humidity"],
      ["PRESURE", "Pressure"],
      ["t3", "t2"],
      ["x", null],
      ["wind", null],
      ["", null],
      ["__prot__", "__proto__"],
    ];
    assert.equal(
      wanted.map(([key]) => [key, nearestName(key, names)]),
      wanted,
    );
  });

  test("one edit of a long name always finds it among others", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "c", "d"), minLength: 8, maxLength: 12 });
    const property = fc.property(letters, fc.nat(), fc.constantFrom("", "z"), (name, at, put) => {
      const i = at % name.length;
      const key = name.slice(0, i) + put + name.slice(i + 1);
      assert.is(nearestName(key, ["zzzzzzzzzz", name, "e".repeat(name.length)]), name);
    });
    fc.assert(property);
  });
});
