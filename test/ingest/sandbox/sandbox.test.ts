/** Programs in an engine of their own: what they compute is limited, and what ends them ends nothing else. */
import { openSandbox, type Sandbox, SandboxError } from "../../../ingest/sandbox/sandbox.js";
import { assert, suite } from "../../suite.js";

const mebibyte = 2 ** 20;
const limits = { stepsMax: 200, outputLengthMax: 1000 } as const;

const text = `
globalThis.echo = (input) => input;
globalThis.loop = (count) => { let sum = 0; for (let i = 0; i < count; i++) sum += i; return sum; };
globalThis.endless = () => { try { for (;;); } catch { return "caught"; } finally { for (;;); } };
globalThis.double = (times) => { let text = "0123456789abcdef"; for (let i = 0; i < times; i++) text += text; return text.split("0").length; };
globalThis.fill = () => { const all = []; for (;;) all.push(new Array(1000).fill(all.length)); };
globalThis.deepen = () => { const deepen = () => 1 + deepen(); return deepen(); };
globalThis.nest = (depth) => JSON.parse("[".repeat(depth) + "]".repeat(depth)).length;
globalThis.pattern = () => /^(a+)+$/.test("a".repeat(40) + "b");
globalThis.long = (length) => "x".repeat(length);
globalThis.fail = () => { throw new TypeError("no such thing"); };
globalThis.failLong = () => { throw new Error("x".repeat(5000000)); };
globalThis.failHidden = () => { throw { get message() { for (;;); } }; };
globalThis.failOddly = () => { throw { toString: () => { throw 1; } }; };
globalThis.count = () => (globalThis.counted = (globalThis.counted ?? 0) + 1);
globalThis.reach = () => [typeof process, typeof require, typeof fetch, typeof WebAssembly, typeof Intl];
globalThis.askObject = () => ours({ a: 1 });
globalThis.rewrite = () => { JSON.stringify = () => ({ length: 1, toString: () => "x".repeat(5000000) }); JSON.parse = null; return 1; };
globalThis.giveFunction = () => () => 1;
globalThis.ask = ({ given, times }) => { let last; for (let i = 0; i < times; i++) last = ours(given); return last; };
`;

const open = (): Promise<Sandbox> =>
  openSandbox({
    scripts: [{ name: "program.js", text }],
    hostFunctions: {
      ours: (given) => {
        if (given === "fail") throw new Error("not for you");
        return [given, '"\\u2028'];
      },
    },
    memoryBytesMax: 16 * mebibyte,
  });

/** What ends the call. */
function faultOf(sandbox: Sandbox, name: string, input?: unknown): SandboxError {
  try {
    sandbox.call(name, input ?? null, limits);
  } catch (error) {
    if (error instanceof SandboxError) return error;
    throw error;
  }
  throw new Error(`${name} was not ended`);
}

suite("sandbox", (test) => {
  test("JSON goes in and comes out as it is", async () => {
    const sandbox = await open();
    const value = { a: [1, -0.5, 1e300, null, true], text: '"\\\u2028é😀\u0000', nested: { empty: {} } };
    assert.equal(sandbox.call("echo", value, limits), value);
    assert.is(sandbox.call("echo", undefined, limits), null);
    assert.is(sandbox.call("loop", 1000, limits), 499_500);
    assert.equal(sandbox.call("reach", null, limits), Array(5).fill("undefined"));
    sandbox.close();
    assert.is(faultOf(sandbox, "echo").fault, "engine");
  });

  test("what computes too long, holds too much or nests too deeply is ended; the next sandbox works", async () => {
    for (const [name, input, fault, message] of [
      ["endless", null, "steps", "computes too long"],
      ["loop", 1e12, "steps", "computes too long"],
      ["pattern", null, "steps", "computes too long"],
      ["double", 24, "memory", "takes more than 16 MiB of memory"],
      ["fill", null, "memory", "takes more than 16 MiB of memory"],
      ["deepen", null, /thrown|engine/, /stack|nests too deeply/],
      ["nest", 1e6, /thrown|engine|memory/, /stack|nests too deeply|memory/],
    ] as const) {
      const sandbox = await open();
      const error = faultOf(sandbox, name, input);
      assert.match(error.fault, fault, name);
      assert.match(error.message, message, name);
      if (error.fault === "thrown") assert.is(sandbox.call("loop", 10, limits), 45, name);
      else assert.is(faultOf(sandbox, "loop", 10).message, "the sandbox is closed", name);
      sandbox.close();
      const next = await open();
      assert.is(next.call("loop", 10, limits), 45, name);
      next.close();
    }
  });

  test("the same call takes the same steps, however busy the machine is", async () => {
    const ends = async (count: number): Promise<boolean> => {
      const sandbox = await open();
      try {
        sandbox.call("loop", count, { ...limits, stepsMax: 50 });
        return true;
      } catch {
        return false;
      } finally {
        sandbox.close();
      }
    };
    let [enough, tooMany] = [1, 10_000_000];
    while (tooMany - enough > 1) {
      const middle = Math.floor((enough + tooMany) / 2);
      if (await ends(middle)) enough = middle;
      else tooMany = middle;
    }
    assert.ok(enough > 50 * 5000 && enough < 50 * 20_000, `${enough}`);
    for (let i = 0; i < 5; i++) assert.equal([await ends(enough), await ends(tooMany)], [true, false]);
  });

  test("output is limited, and what the program throws is passed on; the sandbox works on", async () => {
    const sandbox = await open();
    assert.is(sandbox.call("long", 998, limits), "x".repeat(998));
    assert.is(faultOf(sandbox, "long", 999).message, "makes more than 1000 characters");
    const thrown = faultOf(sandbox, "fail");
    assert.equal([thrown.fault, thrown.message], ["thrown", "no such thing"]);
    assert.is(faultOf(sandbox, "failOddly").message, "an error without a message");
    assert.is(faultOf(sandbox, "failLong").message, "an error of 5000000 characters");
    assert.match(faultOf(sandbox, "nothing").message, "not a function");
    assert.is(faultOf(sandbox, "giveFunction").message, "returns no JSON value");
    assert.is(sandbox.call("rewrite", null, limits), 1);
    assert.equal(sandbox.call("echo", { a: 1 }, limits), { a: 1 });
    assert.is(sandbox.call("count", null, limits), 1);
    assert.is(sandbox.call("count", null, limits), 2);
    assert.match(faultOf(sandbox, "failHidden").fault, /steps|thrown/);
    const other = await open();
    assert.is(other.call("count", null, limits), 1);
    for (const one of [sandbox, other]) one.close();
  });

  test("functions of ours are asked with texts of a bound, which count as steps", async () => {
    const sandbox = await open();
    const answer = sandbox.call("ask", { given: "é\u2028", times: 1 }, limits);
    assert.equal(answer, ["é\u2028", '"\\u2028']);
    assert.is(faultOf(sandbox, "ask", { given: "fail", times: 1 }).message, "not for you");
    assert.is(faultOf(sandbox, "askObject").message, "takes texts and numbers");
    const tooLong = faultOf(sandbox, "ask", { given: "x".repeat(mebibyte + 1), times: 1 });
    assert.match(tooLong.message, "takes texts of at most 1048576 characters");
    assert.is(faultOf(sandbox, "ask", { given: "x".repeat(100_000), times: 100 }).fault, "steps");
    sandbox.close();
  });

  test("many calls leave nothing behind", async () => {
    const sandbox = await open();
    for (let i = 0; i < 20_000; i++) sandbox.call("echo", { i, text: "x".repeat(900) }, limits);
    sandbox.close();
  });
});
