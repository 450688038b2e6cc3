/** Faults published of mathjs and other readers of formulas, each replayed in kind through the API. */
import { makeMetric } from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, refused } from "../world.js";
import { publishedSuite } from "./support.js";

publishedSuite("formulas", (test, world, scene) => {
  const refusedAsFormula = async (...formulas: readonly string[]) => {
    for (const expressions of formulas) {
      const body = { metricName: "m", dataPointIntID: scene.point.id, aggregateType: 3, expressions };
      const reply = await world.call("POST", "/api/v1/metrics", body);
      assert.is(reply.status, 400, `${expressions}: ${reply.text}`);
      refused(reply, "PARAMETER_INVALID", "expressions");
    }
    assert.is(({} as Rec).polluted, undefined);
  };

  test("CVE-2017-1001002 (mathjs): code in the name of a function defined by a formula is not run", async () => {
    await refusedAsFormula(
      "f(x) = x",
      'typed("){}+console.log(1)+function(", 1)',
      "import({a: 1}, {})",
      "f(x) = dataPoint; f(1)",
    );
  });

  test("CVE-2017-1001003 (mathjs): escapes and spellings of constructor reach no property", async () => {
    await refusedAsFormula(
      'cos["constructor"]',
      "cos.constructor",
      'cos["co\\u006estructor"]',
      "cos.co\\u006estructor",
      'dataPoint.constructor.constructor("return process")()',
      '({}).constructor["constructor"]("return 1")()',
      '[].map.constructor("return 1")()',
      'parse("1").transform',
    );
  });

  test("CVE-2017-1001004 (typed-function): a typed function made of a formula's text is not to be had", async () => {
    await refusedAsFormula(
      "typed(1)",
      "createUnit(1)",
      "eval(1)",
      'evaluate("1+1")',
      'parser("1")',
      "simplify(1)",
    );
  });

  test("CVE-2020-7743 (mathjs): no option or prototype is set by a formula", async () => {
    await refusedAsFormula(
      'config({"__proto__": {"polluted": 1}})',
      "__proto__",
      "__proto__.polluted = 1",
      "constructor.prototype.polluted = 1",
      '{"__proto__": {"polluted": 1}}',
      "a = 1",
    );
  });

  test("CVE-2025-12735 (expr-eval): a formula calls the functions of the reference and no other", async () => {
    await refusedAsFormula(
      "exec(1)",
      "fs.readFileSync(1)",
      "process.exit()",
      "require(1)",
      "toString()",
      "valueOf()",
      "hasOwnProperty(1)",
      "constructor(1)",
      "globalThis",
      "this",
    );
  });

  test("CVE-2025-13204 (expr-eval): names of Object.prototype are no variables", async () => {
    await refusedAsFormula(
      ...["toString", "valueOf", "constructor", "__defineGetter__", "hasOwnProperty", "isPrototypeOf"],
      ...["toString + 1", "constructor * dataPoint", "__lookupSetter__(1, 2)"],
    );
  });

  test("CVE-2020-6836 (hot-formula-parser): what only JavaScript would understand is no formula", async () => {
    await refusedAsFormula(
      "SUM([(function(){return 1})()])",
      "(() => 1)()",
      "``",
      "new Date()",
      "/a/.test(1)",
      "1;process.exit()",
      "dataPoint //*/ process.exit()",
      "\u2028process",
      "delete dataPoint",
      "'a'.constructor",
    );
    const metric = await makeMetric(world, scene.point, { expressions: "dataPoint * 2" });
    const device = await scene.device();
    await world.publish(device, { temp: 21 });
    const asked = `/api/v1/metrics_data?deviceID=${device.deviceID}&metricIntID=${metric.id}&time_unit=hour&fill=none`;
    const { list } = await world.call("GET", asked);
    const data = list[0]?.metricData as { readonly value: unknown } | undefined;
    assert.equal(data?.value, [42]);
  });
});
