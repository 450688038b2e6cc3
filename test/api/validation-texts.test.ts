/** What is wrong with a body or a query, in plain words: nothing of the validator's own gets through. */
import { z } from "@hono/zod-openapi";
import fc from "fast-check";
import { apiRoutes } from "../../src/api/routes.js";
import { type ConfigError, readConfig } from "../../src/config/config.js";
import { deviceFields } from "../../src/devices/rules.js";
import { ApiError } from "../../src/http/errors.js";
import { codeField, float, integerField, name, parseWith } from "../../src/http/fields.js";
import { inertDeps } from "../../src/reference/stub-dependencies.js";
import { rawWords } from "../conformance/answers.js";
import { assert, suite } from "../suite.js";

function errorsOf(schema: z.ZodType, value: unknown): Readonly<Record<string, string>> {
  try {
    parseWith(schema, value);
  } catch (error) {
    if (error instanceof ApiError) return error.errors;
    throw error;
  }
  return {};
}

suite("words of validators", (test) => {
  const every = z.object({
    text: z.string(),
    few: z.string().max(3),
    whole: integerField(1, 5),
    real: float(-1, 1),
    one: codeField(1, 2),
    word: z.enum(["x", "y"]),
    flag: z.boolean(),
    list: z.array(z.string()).max(2),
    pair: z.array(z.number()).length(2),
    place: z.tuple([float(-180, 180), float(-90, 90)]),
    name,
    map: z.record(z.string(), z.number()),
    only: z.literal(1),
    strict: z.strictObject({ a: z.number().gt(0).multipleOf(2).optional() }),
  });

  test("each kind of wrong value has its words", () => {
    const names = Object.keys(every.shape);
    assert.equal(errorsOf(every, {}), Object.fromEntries(names.map((field) => [field, "is required"])));
    const wrong = {
      text: 1,
      few: "four",
      whole: 9,
      real: "x",
      one: 3,
      word: "z",
      flag: 1,
      list: ["a", "b", "c"],
      pair: [1],
      place: [200, 0],
      name: "",
      map: { a: "x" },
      only: 2,
      strict: { b: 1 },
    };
    assert.equal(errorsOf(every, wrong), {
      text: "must be a text",
      few: "must have at most 3 characters",
      whole: "must be at most 5",
      real: "must be a number",
      one: "must be one of 1, 2",
      word: "must be one of x, y",
      flag: "must be true or false",
      list: "must have at most 2 entries",
      pair: "must have 2 entries",
      "place.0": "must be at most 180",
      name: "must not be empty",
      "map.a": "must be a number",
      only: "must be 1",
      strict: "must not hold b",
    });
    assert.equal(errorsOf(every.pick({ whole: true, strict: true }), { whole: 1.5, strict: { a: 0 } }), {
      whole: "must be a whole number",
      "strict.a": "must be above 0",
    });
    assert.equal(errorsOf(every.pick({ strict: true }), { strict: { a: 3 } }), {
      "strict.a": "must be a multiple of 2",
    });
  });

  test("a scope gets the errors of the form that it has", () => {
    const errors = (scope: object) =>
      errorsOf(z.object({ scopes: deviceFields.scopes }), { scopes: [scope] });
    const circle = { scopeName: "yard", center: [1, 2], radius: 5 };
    const polygon = {
      scopeName: "yard",
      points: [
        [0, 0],
        [0, 1],
        [1, 1],
      ],
    };
    const type = "scopes.0.scopeType";
    for (const form of [circle, polygon]) {
      assert.equal(errors({ ...form, scopeType: 1 }), {});
      assert.equal(errors({ ...form, scopeType: 9 }), { [type]: "must be one of 1, 2" });
      assert.equal(errors({ ...form, scopeType: "x" }), { [type]: "must be a number" });
      assert.equal(errors(form), { [type]: "is required" });
    }
    const { radius, center, scopeName } = circle;
    assert.equal(errors({ scopeType: 1, scopeName, center }), { "scopes.0.radius": "is required" });
    assert.equal(errors({ scopeType: 1, scopeName, radius }), { "scopes.0.center": "is required" });
    assert.equal(errors({ scopeType: 9, center }), {
      [type]: "must be one of 1, 2",
      "scopes.0.scopeName": "is required",
      "scopes.0.radius": "is required",
    });
    assert.equal(errors({ scopeType: 1, scopeName }), { "scopes.0.points": "is required" });
  });

  test("no body or query of any route is answered in the validator's own words", () => {
    const schemas = apiRoutes(inertDeps()).flatMap(({ spec, b }) =>
      [spec.shape?.body, spec.shape?.query, spec.accepts, b?.shape?.body, b?.shape?.query].filter(
        (schema) => schema !== undefined,
      ),
    );
    assert.ok(schemas.length > 100, String(schemas.length));
    const fieldsOf = (schema: z.ZodType): string[] =>
      schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
    for (const schema of schemas) {
      const fields = fieldsOf(schema);
      const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant("x".repeat(5000)), fc.integer());
      const body = fields.length === 0 ? fc.object() : fc.dictionary(fc.constantFrom(...fields), value);
      fc.assert(
        fc.property(body, (sent) => {
          for (const said of Object.values(errorsOf(schema, sent))) assert.not.match(said, rawWords);
        }),
        { numRuns: 20 },
      );
    }
  });

  test("OLDEST_TIME is a day that every store can hold", () => {
    const read = (OLDEST_TIME: string) => readConfig({ OLDEST_TIME }).oldestTime;
    assert.is(read(""), Date.UTC(1684, 7, 1) * 1000);
    assert.is(read("2001-02-03"), Date.UTC(2001, 1, 3) * 1000);
    for (const [text, said] of [
      ["1684-07-31", "must be a day from 1684-08-01 to 2255-05-31"],
      ["2255-06-01", "must be a day from 1684-08-01 to 2255-05-31"],
      ["2001-02-30", "must be a day, YYYY-MM-DD"],
      ["2001", "must be a day, YYYY-MM-DD"],
    ] as const) {
      try {
        read(text);
      } catch (error) {
        assert.equal((error as ConfigError).problems, [`OLDEST_TIME: ${said}`]);
        continue;
      }
      assert.unreachable(text);
    }
  });

  test("settings are refused in the same words", () => {
    try {
      readConfig({ API_VARIANT: "C", LOG_LEVEL: "loud", PUBLIC_HOST: "x".repeat(300) });
    } catch (error) {
      assert.equal((error as ConfigError).problems, [
        "API_VARIANT: must be one of A, B",
        "PUBLIC_HOST: must have at most 255 characters",
        "LOG_LEVEL: must be one of debug, info, warn, error",
      ]);
      return;
    }
    assert.unreachable();
  });
});
