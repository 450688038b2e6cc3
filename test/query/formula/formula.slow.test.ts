import fc from "fast-check";
import { all, create } from "mathjs";
import { ceil, fix, floor, round } from "../../../query/formula/arithmetic.js";
import { compileFormula, memoizeFormula, storedFormulaOptions } from "../../../query/formula/formula.js";
import { StoreError } from "../../../store/lib/errors.js";
import { assert, cpuTime, suite } from "../../suite.js";

const ids = new Set(["temperature", "humidity", "x", "y", "i", "constructor", "a_1"]);

/** One row; null and the count of errors. */
function run(text: string, row: Readonly<Record<string, number | null>> = {}) {
  const inputs = Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, Float64Array.of(value ?? Number.NaN)]),
  );
  const { values, errors } = compileFormula(text, ids).evaluate(1, inputs);
  const [value = Number.NaN] = values;
  return { value: Number.isNaN(value) ? null : value, errors };
}

function refusal(text: string): string {
  try {
    compileFormula(text, ids);
  } catch (error) {
    if (error instanceof StoreError && error.code === "INVALID") return error.fields.expressions ?? "";
    throw error;
  }
  return "accepted";
}

/** mathjs itself; a complex number is an error at once, as decided for formulas. */
function createOracle() {
  const math = create(all ?? {}, { number: "number" });
  const original = math as unknown as Record<string, (...operands: unknown[]) => unknown>;
  const names = ["pow", "sqrt", "log", "log2", "log10", "log1p", "asin", "acos", "acosh", "atanh"];
  const real = names.map((name) => {
    const inner = original[name];
    const outer = (...operands: unknown[]) => {
      const result = inner?.(...operands);
      if (typeof result !== "number") throw new Error("complex");
      return result;
    };
    return [name, outer];
  });
  const evaluate = math.compile;
  math.import(Object.fromEntries(real), { override: true });
  return (text: string, scope: Record<string, number>): number | null => {
    try {
      const result = Number(evaluate(text).evaluate({ ...scope }));
      return Number.isFinite(result) ? result : null;
    } catch {
      return null;
    }
  };
}

const oracle = createOracle();

const halves = fc.integer({ min: -20, max: 20 }).map((n) => n / 2);
const nearly = fc
  .tuple(halves, fc.constantFrom(0, 1e-16, 1e-15, 2e-15, 1e-13, 1e-12, 3e-12, -1e-13, -1e-16))
  .map(([n, off]) => n * (1 + off) + off);
const number = fc.oneof(
  { weight: 3, arbitrary: halves },
  { weight: 3, arbitrary: nearly },
  { weight: 2, arbitrary: fc.double({ noNaN: true, min: -1000, max: 1000 }) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }) },
  { weight: 1, arbitrary: fc.constantFrom(0, -0, 1, -1, 0.1 + 0.2, 2.675, 1.005, 4.35, 1e15 + 0.5) },
);

const unary = [
  ..."abs sign ceil floor fix round sqrt cbrt exp expm1 log log2 log10 log1p sin cos tan".split(" "),
  ..."asin acos atan sinh cosh tanh asinh acosh atanh square cube nthRoot hypot".split(" "),
];
// Without bitOr: in mathjs `true | 4` is 1, here true is 1 and the result 5.
const binaryFunctions = [
  ..."min max mod pow atan2 hypot log log1p round floor ceil fix nthRoot".split(" "),
  ..."bitAnd bitXor leftShift rightArithShift rightLogShift".split(" "),
];
const symbols = "+ - * / % ^ < > <= >= == != and or xor mod & ^| << >> >>>".split(" ");

/** Text as a user might write it: parentheses only sometimes, so that precedence is compared too. */
const { expression } = fc.letrec<{ expression: string }>((tie) => {
  const inner = tie("expression");
  const leaf = fc.constantFrom("dataPoint", "lastValue", "x", "y", "0.5", "2", "3", "10", "pi", "e", "12.5%");
  return {
    expression: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      { weight: 4, arbitrary: leaf },
      {
        weight: 5,
        arbitrary: fc.tuple(inner, fc.constantFrom(...symbols), inner).map(([a, op, b]) => `${a} ${op} ${b}`),
      },
      { weight: 3, arbitrary: inner.map((a) => `(${a})`) },
      {
        weight: 3,
        arbitrary: fc.tuple(fc.constantFrom("-", "+", "not ", "~"), inner).map(([op, a]) => op + a),
      },
      { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...unary), inner).map(([f, a]) => `${f}(${a})`) },
      {
        weight: 3,
        arbitrary: fc
          .tuple(fc.constantFrom(...binaryFunctions), inner, inner)
          .map(([f, a, b]) => `${f}(${a}, ${b})`),
      },
      { weight: 1, arbitrary: fc.tuple(inner, inner, inner).map(([a, b, c]) => `(${a}) ? ${b} : ${c}`) },
      { weight: 1, arbitrary: fc.tuple(inner, inner, inner).map(([a, b, c]) => `${a} < ${b} <= ${c}`) },
      { weight: 1, arbitrary: inner.map((a) => `2 (${a})`) },
      { weight: 1, arbitrary: fc.constant("3 x / 2 y") },
    ),
  };
});

function same(ours: number | null, theirs: number | null): boolean {
  if (ours === theirs) return true;
  if (ours === null || theirs === null) return false;
  return Math.abs(ours - theirs) <= 1e-13 * Math.max(Math.abs(ours), Math.abs(theirs));
}

suite("formulas: arithmetic", (test) => {
  const cases: readonly (readonly [text: string, result: number])[] = [
    ["(dataPoint - 32) * 5 / 9", 20],
    ["-2^2", -4],
    ["2^-1", 0.5],
    ["2^3^2", 512],
    ["-7 mod 3", 2],
    ["7 % -3", -2],
    ["5 mod 0", 5],
    ["200 + 10%", 220],
    ["50%", 0.5],
    ["2 dataPoint", 136],
    ["1/2 dataPoint", 34],
    ["round(2.5)", 3],
    ["round(-2.5)", -3],
    ["atan2(round(-1e-16), -1)", Math.PI],
    ["round(1.005, 2)", 1.01],
    ["floor(3 - 1e-15)", 3],
    ["ceil(2 + 1e-15)", 2],
    ["0.1 + 0.2 == 0.3", 1],
    ["0.3 < 0.1 + 0.2", 0],
    ["1 < 2 < 3", 1],
    ["3 > 2 > 2", 0],
    ["1 < 2 == true", 0],
    ["true + true", 2],
    ["not 5", 0],
    ["5 and 0 or 1", 1],
    ["dataPoint > 50 ? 1 : 2", 1],
    ["6 & 3 | 8", 10],
    ["6 ^| 3", 5],
    ["-1 | 0.5", -1],
    ["true | 4", 5],
    ["~0", -1],
    ["max(1, 3, 2) - min(4, 2)", 1],
    ["hypot(3, 4)", 5],
    ["log(8, 2)", 3],
    ["nthRoot(-8, 3)", -2],
    ["tau / pi", 2],
    ["currentValue - lastValue", 8],
  ];
  for (const [text, result] of cases) {
    test(`${text} = ${result}`, () => {
      const { value, errors } = run(text, { dataPoint: 68, lastValue: 60 });
      assert.is(errors, 0);
      assert.ok(same(value, result), `${value}`);
    });
  }

  test("equals mathjs on random expressions", () => {
    fc.assert(
      fc.property(expression, number, number, number, number, (text, dataPoint, lastValue, x, y) => {
        if (text.length > 1024) return;
        const row = { dataPoint, lastValue, x, y };
        const message = refusal(text);
        if (message !== "accepted") {
          // After a % mathjs reads `and`, `or`, `mod` … as names.
          assert.match(
            message,
            /reserved|function|takes|more than (200 parts|8 % signs)|nested too deeply|Unexpected|expected/,
          );
          return;
        }
        const { value, errors } = run(text, row);
        const theirs = oracle(text, row);
        assert.ok(same(value, theirs), `${text} ${JSON.stringify(row)}: ${value}, mathjs ${theirs}`);
        assert.is(errors, value === null ? 1 : 0);
      }),
      { numRuns: 4000 },
    );
  });

  test("rounds as the digits that print a number: next to halves, at every size", () => {
    const math = create(all ?? {}, { number: "number" });
    const called = { round, floor, ceil, fix };
    const bits = new DataView(new ArrayBuffer(8));
    const beside = (x: number, steps: number): number => {
      bits.setFloat64(0, x);
      bits.setBigInt64(0, bits.getBigInt64(0) + BigInt(steps));
      return bits.getFloat64(0);
    };
    const whole = (max: number) => fc.integer({ min: 0, max });
    const half = fc.tuple(whole(1e9), whole(16)).map(([n, decimals]) => (10 * n + 5) / 10 ** (decimals + 1));
    const digits = fc
      .tuple(fc.maxSafeInteger(), whole(16))
      .map(([n, decimals]) => Math.abs(n) / 10 ** decimals);
    const size = fc.oneof(half, digits, fc.double({ noNaN: true, min: 0 }), fc.constantFrom(0, 5e-324, 2e16));
    const near = fc.tuple(size, fc.integer({ min: -4, max: 4 })).map(([x, steps]) => beside(x, steps));
    fc.assert(
      fc.property(near, fc.boolean(), whole(15), (size, negative, decimals) => {
        const x = negative ? -size : size;
        for (const [name, ours] of Object.entries(called)) {
          const theirs = (math as unknown as Record<string, typeof round>)[name]?.(x, decimals);
          assert.ok(
            Object.is(ours(x, decimals), theirs),
            `${name}(${x}, ${decimals}): ${ours(x, decimals)}, mathjs ${theirs}`,
          );
        }
      }),
      { numRuns: 6_000 },
    );
  });

  test("rounds as mathjs, near halves and integers too", () => {
    const calls = ["round", "floor", "ceil", "fix"].flatMap((name) => [`${name}(x)`, `${name}(x, y)`]);
    const near = fc
      .tuple(fc.integer({ min: -1e6, max: 1e6 }), fc.integer({ min: 0, max: 6 }), nearly)
      .map(([n, decimals, off]) => n / 10 ** decimals + (off % 1) * 1e-9);
    fc.assert(
      fc.property(fc.oneof(near, number), fc.integer({ min: -1, max: 16 }), (x, y) => {
        for (const text of calls) {
          const [ours, theirs] = [run(text, { x, y }).value, oracle(text, { x, y })];
          assert.ok(Object.is(ours, theirs), `${text} x=${x} y=${y}: ${ours}, mathjs ${theirs}`);
        }
      }),
      { numRuns: 3000 },
    );
  });
});

suite("formulas: null and errors", (test) => {
  const nothing = { value: null, errors: 0 };
  const error = { value: null, errors: 1 };

  test("a null operand gives null and is no error", () => {
    assert.equal(run("dataPoint + lastValue", { dataPoint: 1, lastValue: null }), nothing);
    assert.equal(run("temperature == temperature"), nothing);
    assert.equal(run("null + 1"), nothing);
    assert.equal(run("dataPoint ^ 0", { dataPoint: null }), nothing);
  });

  test("only operands that are evaluated count", () => {
    assert.is(run("dataPoint > 0 ? dataPoint : lastValue", { dataPoint: 3 }).value, 3);
    assert.equal(run("dataPoint > 0 ? null : 1", { dataPoint: 3 }), nothing);
    assert.is(run("dataPoint and lastValue", { dataPoint: 0 }).value, 0);
    assert.is(run("dataPoint or lastValue", { dataPoint: 2 }).value, 1);
    assert.equal(run("lastValue or dataPoint", { dataPoint: 2 }), nothing);
    assert.is(run("3 < dataPoint < lastValue", { dataPoint: 2 }).value, 0);
  });

  test("?? stands in for null, not for an error", () => {
    assert.is(run("lastValue ?? 7").value, 7);
    assert.is(run("dataPoint - (lastValue ?? dataPoint)", { dataPoint: 5 }).value, 0);
    assert.is(run("(x + 1 ?? y) ?? 2", { y: 4 }).value, 2);
    assert.is(run("(x ?? y) ?? 2", { y: 4 }).value, 4);
    assert.equal(run("x ?? y"), nothing);
    assert.equal(run("sqrt(-1) ?? 2"), error);
    assert.equal(run("(1 / 0) ?? 2"), error);
  });

  test("a sign or not may follow every operator, ?? included", () => {
    const operators = [...symbols, "or", "?? 0 ^", "^ 2 ??", "??", "?? null ??", "== 3 ? 1 : 2 +"];
    const signs = ["-", "+", "~", "not ", "- - ", "-not ", "not -", "not not "];
    const operands = [..."x y 2 .5 1e-1 0x1F (x+y) abs(x)".split(" "), "max (x, -y)", "(x ?? -y)", "not(y)"];
    const pick = <T>(of: readonly T[]) => fc.constantFrom(...of);
    const value = fc.option(fc.integer({ min: -4, max: 4 }));
    fc.assert(
      fc.property(
        ...([pick(operands), pick(operators), pick(signs), pick(operands)] as const),
        ...([pick(["", " "]), pick(["", " ?? -3", " + x", " * -y"]), value, value] as const),
        (first, operator, sign, second, space, behind, x, y) => {
          const row = { x, y };
          // Before another ?? a sign belongs to what that makes, unless it stands after ?? itself.
          const rest = operator.endsWith("??") || !behind.includes("??") ? behind : "";
          const gap = /[a-z]$/.test(operator) ? " " : space;
          const text = `${first} ${operator}${gap}${sign}${second}${rest}`;
          const enclosed = `${first} ${operator} (${sign}${second})${rest.replace("-3", "(-3)")}`;
          assert.equal(run(text, row), run(enclosed, row), `${text} as ${enclosed}`);
        },
      ),
      { numRuns: 3000 },
    );
    assert.is(run("lastValue ?? -1").value, -1);
    assert.is(run("lastValue ?? -x ?? -2").value, -2);
    assert.is(run("lastValue??not x + 1", { x: 0 }).value, 2);
  });

  test("what is no finite number is null and counted", () => {
    for (const text of ["1 / 0", "0 / 0", "sqrt(-1)", "(-8)^(1/3)", "log(-1)", "asin(2)", "exp(1000)"]) {
      assert.equal(run(text), error, text);
    }
    assert.equal(run("abs(sqrt(-4))"), error);
    assert.equal(run("sqrt(-1) > 0 ? 1 : 2"), error);
    assert.equal(run("5.5 & 1"), error);
    assert.equal(run("round(1, 16)"), error);
    assert.is(run("1 / (1 / 0)").value, 0);
    assert.is(run("0 / 0 > 1").value, 0);
  });

  test("errors are counted over rows", () => {
    const { values, errors } = compileFormula("1 / x", ids).evaluate(4, {
      x: Float64Array.of(2, 0, Number.NaN, 4),
    });
    assert.equal([...values], [0.5, Number.NaN, Number.NaN, 0.25]);
    assert.is(errors, 1);
  });

  test("a column shorter than asked for is a mistake of the caller", () => {
    assert.throws(() => compileFormula("x", ids).evaluate(2, { x: new Float64Array(1) }), /x has 1/);
  });
});

suite("formulas: names", (test) => {
  test("variables in order of first use, currentValue as dataPoint", () => {
    const formula = compileFormula("humidity + currentValue * dataPoint - lastValue + humidity", ids);
    assert.equal(formula.variables, ["humidity", "dataPoint", "lastValue"]);
  });

  test("a data point may be called as a property of every object", () => {
    assert.equal(run("constructor"), { value: null, errors: 0 });
    assert.is(run("constructor + i", { constructor: 1, i: 2 }).value, 3);
    assert.match(refusal("toString"), /toString is no data point/);
    assert.match(refusal("__proto__"), /__proto__ is no data point/);
  });

  test("an unknown name is refused when saved and null when asked", () => {
    assert.is(refusal("1 + gone"), "gone is no data point, constant or function (column 5)");
    assert.equal(
      [
        ...compileFormula("x\u00a0+ 1", ids, storedFormulaOptions).evaluate(1, { x: Float64Array.of(2) })
          .values,
      ],
      [3],
    );
    assert.is(run("x\u00a0+\u00a01", { x: 2 }).value, 3, "no-break spaces are white space");
    const formula = compileFormula("1 + gone", ids, storedFormulaOptions);
    assert.equal(formula.variables, ["gone"]);
    assert.equal([...formula.evaluate(1, {}).values], [Number.NaN]);
  });

  test("what is stored may weigh more than what is saved today", () => {
    const text = Array(33).fill("floor(x,15)").join("+");
    const formula = compileFormula(text, ids, storedFormulaOptions);
    assert.is(formula.weight, 230);
    assert.equal([...formula.evaluate(1, { x: Float64Array.of(2.5) }).values], [82.5]);
    const compile = memoizeFormula();
    compile(text, ids, storedFormulaOptions);
    assert.throws(() => compile(text, ids), /slow functions/);
    assert.throws(() => compileFormula(text, new Set(), { allowHeavy: true }), /x is no data point/);
    assert.is(compileFormula(Array(28).fill("round(x,1)").join("+"), ids).weight, 28 * 6 + 27);
  });

  test("a data point goes before a constant of its name, which every other product has", () => {
    const names = ["e", "pi", "tau", "true", "false", "null"];
    const constants = [Math.E, Math.PI, 2 * Math.PI, 1, 0, null];
    const compile = memoizeFormula();
    for (const of of [compileFormula, compile]) {
      for (const [i, name] of names.entries()) {
        const text = `1 * ${name}`;
        const own = of(text, new Set(["x", name]));
        assert.equal(own.variables, [name]);
        assert.equal([...own.evaluate(1, { [name]: Float64Array.of(42) }).values], [42]);
        assert.is(own.row()(Float64Array.of(42)), 42);
        const other = of(text, ids);
        assert.equal(other.variables, []);
        const [value = Number.NaN] = other.evaluate(1, {}).values;
        assert.is(Number.isNaN(value) ? null : value, constants[i]);
        assert.is(of(text, ids).variables.length, 0, "also from memory");
      }
    }
    const both = compile("true and e > pi", new Set(["true", "e"]));
    assert.equal(both.variables, ["true", "e"]);
    assert.is(both.row()(Float64Array.of(1, 4)), 1);
    assert.is(both.row()(Float64Array.of(0, 4)), 0);
    // The words of functions and operators stay what they are.
    assert.is(refusal("sin + 1"), "sin is a function and needs ( ) (column 1)");
    assert.throws(() => compile("sin + 1", new Set(["sin"])), /is a function/);
    assert.throws(() => compile("NaN + 1", new Set(["NaN"])), /not a finite number/);
    // What is remembered of one text is not that of another.
    assert.throws(() => compile("e:e", new Set(["e"])));
  });

  test("the memory answers the same formula, checks names each time and forgets the oldest", () => {
    const compile = memoizeFormula(2);
    const first = compile("x + 1", ids);
    assert.is(compile("x + 1", ids), first);
    assert.throws(() => compile("x + 1", new Set()), /x is no data point/);
    compile("x + 2", ids);
    compile("x + 1", ids);
    compile("x + 3", ids);
    assert.is(compile("x + 1", ids), first);
    compile("x + 2", ids);
    compile("x + 3", ids);
    assert.is.not(compile("x + 1", ids), first);
  });
});

suite("formulas: refusals", (test) => {
  const refused: readonly (readonly [text: string, message: RegExp])[] = [
    ["", /empty/],
    ["1 +", /value is missing.*column 3/],
    ["5 % (3 +", /value is missing/],
    ["(5 % -) + 3", /value is missing/],
    ["5 % @", /column 5/],
    ["(1 + 2", /not closed/],
    ["1) + (2", /not opened.*column 2/],
    ["x = 3", /assignment.*column 3/],
    ["f(x) = x", /assignment/],
    ["'a'", /text.*column 1/],
    ["[1, 2]", /matrices/],
    ["x[1]", /matrices/],
    ["{a: 1}", /objects/],
    ["1; 2", /one expression.*column 2/],
    ["1\n2", /one expression/],
    ["1 # note", /comments/],
    ["1:3", /range is not allowed/],
    ["x.y", /accessor is not allowed/],
    ["x?.y", /optional/],
    ["x!", /write not in place of ! \(column 2\)/],
    ["x .* 2", /operator \.\* is not allowed/],
    ["5 cm", /cm is no data point.*column 3/],
    ["x to y", /operator to is not allowed/],
    ["random()", /random is not an allowed function \(column 1\)/],
    ["2 * factorial(3)", /factorial is not an allowed function \(column 5\)/],
    ["import(1)", /import is not an allowed function/],
    ["x(3)", /x is not an allowed function/],
    ["sin", /sin is a function/],
    ["sin()", /sin takes 1 operands, not 0/],
    ["atan2(1)", /atan2 takes 2/],
    ["1e999", /not a finite number/],
    ["NaN", /not a finite number/],
    ["undefined", /undefined/],
    ["1 + ".repeat(300), /longer than 1024/],
    [`1${"+1".repeat(100)}`, /more than 200 parts/],
    [`${"(".repeat(8)}1${"+5%)".repeat(8)}`, /more than 200 parts/],
    [`1${"+5%".repeat(9)}`, /8 % signs.*column/],
    [Array(33).fill("floor(x,15)").join("+"), /more than 200 parts, where slow .* several: it has 230/],
    [Array(30).fill("x^1.5").join("+"), /slow functions/],
    [Array(20).fill("sin(cos(x))").join("+"), /slow functions/],
    [`hypot(${"hypot(1,x),".repeat(40)}x)`, /slow functions/],
    ["(".repeat(1000), /nested/],
    [`${"(".repeat(400)}1${")".repeat(400)}`, /nested/],
    [`${"-".repeat(1000)}1`, /200 parts/],
    [`${"1^".repeat(500)}1`, /200 parts/],
    [`${"1?1:".repeat(250)}1`, /200 parts/],
    [`${"abs(".repeat(200)}1${")".repeat(200)}`, /nested/],
  ];
  const spellings: readonly (readonly [text: string, message: string])[] = [
    ["dataPoint ** 2", "write ^ in place of ** (column 11)"],
    ["x > 1 && x < 9", "write and in place of && (column 7)"],
    ["x > 1 || x < 9", "write or in place of || (column 7)"],
    ["!x", "write not in place of ! (column 1)"],
    ["x !== 1", "write != in place of !== (column 3)"],
    ["x === 1", "write == in place of === (column 3)"],
    ["x <> 1", "write != in place of <> (column 3)"],
    ["x =< 1", "write <= in place of =< (column 3)"],
    ["x => 1", "write >= in place of => (column 3)"],
    ["x ≤ 1", "write <= in place of ≤ (column 3)"],
    ["x ≥ 1", "write >= in place of ≥ (column 3)"],
    ["x ≠ 1", "write != in place of ≠ (column 3)"],
    ["x = 1", "assignment is not allowed; equality is == (column 3)"],
    ["（x + 1）* 2", "write ( ) in place of （ (column 1)"],
    ["(x + 1）* 2", "write ( ) in place of ） (column 7)"],
    ["max(x，1)", "write , in place of ， (column 6)"],
    ["x × 2", "write * in place of × (column 3)"],
    ["x ÷ 2", "write / in place of ÷ (column 3)"],
    ["x − 2", "write - in place of − (column 3)"],
    ["x ＋ 2", "write + in place of ＋ (column 3)"],
    ["x ＞ 2", "write > in place of ＞ (column 3)"],
    ["x ＝ 2", "write == in place of ＝ (column 3)"],
    ["x＊２", "write * in place of ＊ (column 2)"],
    ["x * ２", "write 2 in place of ２ (column 5)"],
    ["x² + 1", "write ^2 in place of ² (column 2)"],
    ["2 * π", "write pi in place of π (column 5)"],
    ["x　+ 1", "write a plain space in place of 　 (column 2)"],
    ["Math.sqrt(x)", "write functions without Math. in place of Math. (column 1)"],
    ["ln(x)", "ln is not an allowed function; write log(x) in place of ln (column 1)"],
    ["2 * LN(x)", "LN is not an allowed function; write log(x) in place of LN (column 5)"],
    ["SQRT(x)", "SQRT is not an allowed function; write sqrt in place of SQRT (column 1)"],
    ["lg(x)", "lg is not an allowed function; write log10(x) in place of lg (column 1)"],
    ["IF(x > 1, 2, 3)", "IF is not an allowed function; write condition ? x : y in place of IF (column 1)"],
    ["x > 1 AND y > 1", "AND is no data point, constant or function; write and in place of AND (column 7)"],
    ["x == True", "True is no data point, constant or function; write true in place of True (column 6)"],
    ["2 * PI", "PI is no data point, constant or function; write pi in place of PI (column 5)"],
    ["x + nothing", "nothing is no data point, constant or function (column 5)"],
  ];
  for (const [text, message] of spellings)
    test(`${text}: ${message}`, () => assert.is(refusal(text), message));

  test("letters that look like signs are refused in a new formula; in a stored one they are names, as ever", () => {
    const stored: readonly (readonly [text: string, variables: readonly string[], right: RegExp])[] = [
      ["x × y", ["x", "×", "y"], /^write \* in place of × \(column 3\)$/],
      ["x×y", ["x×y"], /^write \* in place of × \(column 2\)$/],
      ["x ÷ y", ["x", "÷", "y"], /^write \/ in place of ÷ \(column 3\)$/],
      ["2 π", ["π"], /^write pi in place of π \(column 3\)$/],
    ];
    for (const [text, variables, right] of stored) {
      const formula = compileFormula(text, ids, storedFormulaOptions);
      assert.equal(formula.variables, variables, text);
      const { values } = formula.evaluate(1, { x: Float64Array.of(6), y: Float64Array.of(3) });
      assert.ok(Number.isNaN(values[0]), text);
      assert.match(refusal(text), right);
      const compile = memoizeFormula();
      compile(text, ids, storedFormulaOptions);
      assert.throws(() => compile(text, ids), /in place of/);
    }
  });

  test("what is right is never called misspelt", () => {
    for (const text of [
      "x != 1",
      "x >= 1",
      "x <= 1",
      "x == 1 ? x : -y",
      "not x or y and x",
      "x < y",
      "x % 2",
    ])
      assert.is(refusal(text), "accepted", text);
  });

  for (const [text, message] of refused) {
    test(`${text.length > 40 ? `${text.slice(0, 40)}…` : text}`, () => assert.match(refusal(text), message));
  }

  test("columns count in the text that was sent, signs after ?? included", () => {
    for (const [text, column] of [
      ["lastValue ?? -1 @ 2", 17],
      ["lastValue ?? -x ?? - (y ?? -2) $$@", 34],
      ["(x ?? -1) + (y ?? -2", 20],
      ["x ?? -y + gone", 11],
      ["x ?? -y 3", 9],
    ] as const) {
      assert.match(refusal(text), new RegExp(`\\(column ${column}\\)$`), `${text}: ${refusal(text)}`);
    }
  });

  test("deep but allowed formulas compile and run", () => {
    assert.is(run(`1${"+1".repeat(99)}`).value, 100);
    assert.is(run(`${"0?1:".repeat(60)}7`).value, 7);
    assert.is(run(`${"(".repeat(60)}x${")".repeat(60)}`, { x: 4 }).value, 4);
    assert.is(run(`${"(x ?? ".repeat(40)}3${")".repeat(40)}`).value, 3);
  });

  test("no text takes the parser long", () => {
    const spent = cpuTime();
    refusal(`${"x%abs(".repeat(8)}x${")".repeat(8)}`);
    refusal(`${"x%(".repeat(300)}x`);
    refusal("a?".repeat(500));
    assert.ok(spent() < 2000);
  });

  test("no text makes anything but an answer or a refusal", () => {
    const token = fc.constantFrom(
      ..."x dataPoint 1 2.5 ( ) + - * / % ^ ! ' [ ] { } : ; ? ?? ?. . , = == < and not to mod".split(" "),
      ..."abs( max( constructor __proto__ \u00e4 \ud83d\ude00 \\ ` ${ // */".split(" "),
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 30 }), (tokens) => {
        if (refusal(tokens.join(" ")) === "accepted") run(tokens.join(" "), { x: 1, dataPoint: 2 });
      }),
      { numRuns: 2000 },
    );
  });
});
