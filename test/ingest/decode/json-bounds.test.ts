import { isWithinJsonBounds, jsonLevelsMax, jsonPartsMax } from "../../../ingest/decode/json-bounds.js";
import { assert, suite } from "../../suite.js";

const long = `"${"x".repeat(5000)}"`;
const nested = (levels: number) => `${"[".repeat(levels)}${long}${"]".repeat(levels)}`;

suite("bounds of JSON", (test) => {
  test("levels and parts are counted, in texts nothing is", () => {
    assert.ok(isWithinJsonBounds(nested(jsonLevelsMax)));
    assert.not(isWithinJsonBounds(nested(jsonLevelsMax + 1)));
    assert.ok(isWithinJsonBounds(`[${"1,".repeat(jsonPartsMax - 2)}1]`));
    assert.not(isWithinJsonBounds(`[${"1,".repeat(jsonPartsMax - 1)}1]`));
    assert.ok(isWithinJsonBounds(JSON.stringify(`${'[{,"\\'.repeat(30_000)}`)));
    assert.ok(isWithinJsonBounds("[".repeat(1000)), "a short text is parsed whatever it is");
  });
});
