import fc from "fast-check";
import { DateTime } from "luxon";
import { readTime } from "../../../ingest/decode/time.js";
import { zone } from "../../../query/zone.js";
import { localTimeIn } from "../../../src/import-export/points/local-time.js";
import { assert, suite } from "../../suite.js";

const zones = ["UTC", "Europe/Berlin", "Asia/Shanghai", "America/St_Johns"] as const;
const read = (text: string, name = "UTC"): number | null => readTime(text, localTimeIn(zone(name)));

suite("wall-clock times of devices and of files", (test) => {
  test("before 1970 fractions of a second count forward, as after it", () => {
    assert.is(read("1969-12-31 23:59:59.999"), -1000);
    assert.is(read("1969-12-31 23:59:59.000001"), -999_999);
    assert.is(read("1969-12-31 23:59:58.5"), -1_500_000);
    assert.is(read("1970-01-01 00:00:00.001"), 1000);
    assert.is(read("1970-01-01 00:59:59.25", "Europe/Berlin"), -750_000);
    assert.is(read("1930-06-01 00:00:00.000001", "Asia/Shanghai"), -1_249_286_399_999_999);
  });

  test("every microsecond of a century on either side of 1970 is read as it stands", () => {
    const seconds = fc.integer({ min: -2_000_000_000, max: 4_000_000_000 });
    const micros = fc.integer({ min: 0, max: 999_999 });
    fc.assert(
      fc.property(seconds, micros, fc.constantFrom(...zones), (second, micro, name) => {
        const text = DateTime.fromSeconds(second, { zone: name }).toFormat("yyyy-MM-dd HH:mm:ss");
        const at = read(`${text}.${String(micro).padStart(6, "0")}`, name);
        // If the hour occurs twice, the first one counts.
        const whole = ((at ?? Number.NaN) - micro) / 1e6;
        assert.ok(Number.isInteger(whole) && whole <= second, text);
        assert.is(DateTime.fromSeconds(whole, { zone: name }).toFormat("yyyy-MM-dd HH:mm:ss"), text);
      }),
    );
  });
});
