import fc from "fast-check";
import { circle, crossing, distance, type LngLat, polygon } from "../../../ingest/alerts/geofence.js";
import { assert, cpuTime, suite } from "../../suite.js";

const square: LngLat[] = [
  [0, 0],
  [10, 0],
  [10, 10],
  [0, 10],
];
/** A U, open to the north. */
const bay: LngLat[] = [
  [0, 0],
  [9, 0],
  [9, 9],
  [6, 9],
  [6, 3],
  [3, 3],
  [3, 9],
  [0, 9],
];
const east = (by: number, ring: readonly LngLat[]): LngLat[] =>
  ring.map(([lng, lat]) => [wrapped(lng + by), lat]);
const wrapped = (lng: number) => ((((lng + 180) % 360) + 360) % 360) - 180;

const places: readonly (readonly [string, readonly LngLat[], LngLat, boolean])[] = [
  ["the middle", square, [5, 5], true],
  ["a corner", square, [10, 10], true],
  ["an edge", square, [10, 5], true],
  ["beside it", square, [10.000001, 5], false],
  ["north of it", square, [5, 10.000001], false],
  ["west of a corner, at its height", square, [-1, 10], false],
  ["the water of a bay", bay, [4.5, 6], false],
  ["the land of a bay", bay, [1.5, 6], true],
  ["the shore of a bay", bay, [3, 5], true],
  ["a closed ring", [...square, [0, 0]], [5, 5], true],
  ["points twice", [...square, ...square.slice(3)], [5, 5], true],
  ["clockwise", [...square].reverse(), [5, 5], true],
  ["across the 180th meridian, west of it", east(175, square), [179, 5], true],
  ["across the 180th meridian, east of it", east(175, square), [-176, 5], true],
  ["across the 180th meridian, on it", east(175, square), [180, 5], true],
  ["across the 180th meridian, on it, written as -180", east(175, square), [-180, 5], true],
  ["across the 180th meridian, the other side of the earth", east(175, square), [0, 5], false],
  ["across the 180th meridian, just outside", east(175, square), [-174.9, 5], false],
  [
    "round the south pole",
    [
      [-90, -70],
      [0, -65],
      [90, -70],
      [180, -65],
    ],
    [45, -89],
    true,
  ],
  [
    "round the south pole, outside",
    [
      [-90, -70],
      [0, -65],
      [90, -70],
      [180, -65],
    ],
    [45, -60],
    false,
  ],
  [
    "round the north pole, westward",
    [
      [180, 70],
      [90, 70],
      [0, 70],
      [-90, 70],
    ],
    [-135, 80],
    true,
  ],
];

suite("fences", (test) => {
  for (const [name, ring, place, inside] of places) {
    test(`${name}: ${inside ? "inside" : "outside"}`, () => assert.is(polygon(ring)(place), inside));
  }

  test("a circle is as far as its radius, over the 180th meridian and at the poles", () => {
    const degree = 111_195;
    assert.ok(Math.abs(distance([0, 0], [1, 0]) - degree) < 100);
    assert.ok(Math.abs(distance([179.5, 0], [-179.5, 0]) - degree) < 100);
    assert.ok(Math.abs(distance([0, 89.5], [180, 89.5]) - degree) < 100);
    assert.ok(Math.abs(distance([0, 0], [180, 0]) - 180 * degree) < 10_000);
    const fence = circle([180, 0], 60_000);
    assert.equal([fence([-179.5, 0]), fence([179.5, 0]), fence([-179.4, 0.1])], [true, true, false]);
    assert.is(circle([8, 47], 0)([8, 47]), true);
  });

  test("where a ring lies on the earth does not matter", () => {
    const place = fc.tuple(fc.integer({ min: -20, max: 120 }), fc.integer({ min: -20, max: 120 }));
    fc.assert(
      fc.property(fc.integer({ min: -180, max: 180 }), place, (by, [x, y]) => {
        const at: LngLat = [x / 10, y / 10];
        const [moved = at] = east(by, [at]);
        assert.is(polygon(east(by, bay))(moved), polygon(bay)(at));
      }),
    );
  });

  test("a convex ring holds what lies on the inner side of all its edges", () => {
    const angles = fc.uniqueArray(fc.integer({ min: 0, max: 359 }), { minLength: 3, maxLength: 12 });
    const part = fc.integer({ min: -15_000, max: 15_000 }).map((n) => n / 1000 + 1e-7);
    fc.assert(
      fc.property(angles, part, part, (degrees, x, y) => {
        const ring = degrees
          .sort((a, b) => a - b)
          .map(
            (angle): LngLat => [
              10 * Math.cos((angle * Math.PI) / 180),
              10 * Math.sin((angle * Math.PI) / 180),
            ],
          );
        const inside = ring.every((from, i) => {
          const to = ring[(i + 1) % ring.length] as LngLat;
          return (to[0] - from[0]) * (y - from[1]) - (to[1] - from[1]) * (x - from[0]) >= 0;
        });
        assert.is(polygon(ring)([x, y]), inside);
      }),
      { numRuns: 2000 },
    );
  });

  test("rings that cross or touch themselves are found", () => {
    const crossed: LngLat[] = [
      [0, 0],
      [2, 2],
      [2, 0],
      [0, 2],
    ];
    assert.equal(crossing(crossed), [0, 2]);
    assert.equal(crossing(east(179, crossed)), [0, 2]);
    const touching: LngLat[] = [
      [0, 0],
      [4, 0],
      [4, 4],
      [2, 0],
      [0, 4],
    ];
    assert.ok(crossing(touching) !== null);
    for (const ring of [square, bay, east(175, bay), [...bay, bay[0] as LngLat]])
      assert.is(crossing(ring), null);
  });

  test("a ring of 200,000 points is measured and looked into at once", () => {
    const ring = Array.from({ length: 200_000 }, (_, i): LngLat => {
      const angle = (i / 200_000) * 2 * Math.PI;
      return [10 * Math.cos(angle), 10 * Math.sin(angle)];
    });
    const spent = cpuTime();
    const fence = polygon(ring);
    assert.equal([fence([0, 0]), fence([9.9, 0]), fence([10.1, 0])], [true, true, false]);
    assert.is(crossing(ring), null);
    assert.ok(spent() < 10_000);
  });
});
