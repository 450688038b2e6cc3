import fc from "fast-check";
import { findSharedTarget, sharedDocument, sharedRange } from "../../src/dashboards/shared.js";
import { assert, suite } from "../suite.js";
import { documentBody, panelsOf } from "./documents.js";

const hour = 3_600_000;
const ids = { deviceID: "gh-1", groupID: "g1", productID: "p1", dataPointIntID: 1, metricIntID: 2 };

suite("what a share shows", (test) => {
  test("no command is in it", () => {
    const types = sharedDocument(documentBody(panelsOf(ids)) as never).panels.map(
      ({ type }) => type as string,
    );
    assert.not.ok(types.includes("command"));
    assert.is(types.length, panelsOf(ids).length - 1);
  });

  test("variables stand for what is stored of them", () => {
    const variables = [
      { name: "a", label: "", type: "device", value: "gh-1" },
      { name: "b", label: "", type: "group", value: "" },
    ];
    const document = { variables } as never;
    assert.equal(findSharedTarget(document, "$a", "device"), { type: "device", id: "gh-1" });
    assert.is(findSharedTarget(document, "$b", "device"), null);
    assert.is(findSharedTarget(document, "$c", "device"), null);
    assert.equal(findSharedTarget(document, "c", "product"), { type: "product", id: "c" });
  });

  test("a range is cut to twelve times the dashboard's, which ends where that ends", () => {
    const own = { start: 100 * hour, end: 110 * hour };
    assert.equal(sharedRange(own, {}, 0), own);
    assert.equal(sharedRange(own, { start: 0 }, 0), { start: 0, end: 110 * hour });
    assert.equal(sharedRange(own, { start: -11 * hour, end: 1000 * hour }, 0), {
      start: -10 * hour,
      end: 110 * hour,
    });
    assert.equal(sharedRange(own, { start: 20 * hour, end: 30 * hour }, 0), {
      start: 20 * hour,
      end: 30 * hour,
    });
    assert.is(sharedRange(own, { start: 110 * hour, end: 120 * hour }, 0), null);
    assert.is(sharedRange(own, { start: -30 * hour, end: -20 * hour }, 0), null);
    // Compared with what was 200 hours before.
    assert.equal(sharedRange(own, { start: -1000 * hour, end: -90 * hour }, 200 * hour), {
      start: -100 * hour,
      end: -90 * hour,
    });
  });

  test("whatever is asked for, nothing outside is answered", () => {
    const instant = fc.integer({ min: -1e6, max: 1e6 });
    fc.assert(
      fc.property(
        instant,
        fc.integer({ min: 1, max: 1000 }),
        instant,
        instant,
        fc.nat(5000),
        (start, length, from, to, compare) => {
          const own = { start, end: start + length };
          const found = sharedRange(own, { start: from, end: to }, compare);
          const first = Math.min(own.end - 12 * length, start - compare);
          for (
            let at = Math.max(from, first) - 1;
            found === null && at <= Math.min(to, own.end);
            at += Math.max(1, length)
          )
            assert.not.ok(at >= from && at < to && at >= first && at < own.end);
          if (found !== null)
            assert.ok(
              found.start >= first &&
                found.end <= own.end &&
                found.start >= from &&
                found.end <= to &&
                found.start < found.end,
            );
        },
      ),
    );
  });
});
