import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { assert, rejects, suite, until, withTempDir } from "./suite.js";
import { filesWithOwnProcess, plainExceptions } from "./test-files.js";

const suiteUrl = new URL("./suite.js", import.meta.url).href;
const runner = fileURLToPath(new URL("./run.js", import.meta.url));
const header = `import { assert, influxSuite, suite } from ${JSON.stringify(suiteUrl)};`;

interface Expected {
  readonly code: 0 | 1;
  readonly last: string;
  readonly says?: RegExp;
}

interface Trap extends Expected {
  readonly title: string;
  readonly source: string;
  readonly args?: readonly string[];
}

const oneGood = `test("good", () => {});`;
const inSuite = (lines: string) => `suite("s", (test) => { ${lines} });`;

/** Each is a way in which a runner could call a broken file good. */
const traps: readonly Trap[] = [
  { title: "a good test", source: inSuite(oneGood), code: 0, last: "1 passed, 0 failed, 0 skipped" },
  {
    title: "a failing test beside a good one",
    source: inSuite(`${oneGood} test("bad", () => assert.is(1, 2));`),
    code: 1,
    last: "1 passed, 1 failed, 0 skipped",
    says: /failed: .* › bad: /,
  },
  {
    title: "before throws",
    source: inSuite(
      `test.before(() => { throw new Error("no ground"); }); ${oneGood} test("two", () => {});`,
    ),
    code: 1,
    last: "0 passed, 2 failed, 0 skipped",
    says: /no ground/,
  },
  {
    title: "before.each rejects",
    source: inSuite(`test.before.each(async () => { throw new Error("no row"); }); ${oneGood}`),
    code: 1,
    last: "0 passed, 1 failed, 0 skipped",
    says: /no row/,
  },
  {
    title: "after.each throws",
    source: inSuite(
      `test.after.each(() => { throw new Error("left over"); }); ${oneGood} test("two", () => {});`,
    ),
    code: 1,
    last: "0 passed, 2 failed, 0 skipped",
    says: /left over/,
  },
  {
    title: "after throws",
    source: inSuite(`test.after(() => { throw new Error("will not close"); }); ${oneGood}`),
    code: 1,
    last: "1 passed, 1 failed, 0 skipped",
    says: /will not close/,
  },
  {
    title: ".only left behind",
    source: inSuite(`test.only("chosen", () => {}); ${oneGood}`),
    code: 1,
    last: "1 passed, 2 failed, 0 skipped",
    says: /\.only left behind/,
  },
  {
    title: ".only as the sole test",
    source: inSuite(`test.only("chosen", () => {});`),
    code: 1,
    last: "1 passed, 1 failed, 0 skipped",
  },
  { title: "a suite without tests", source: inSuite(""), code: 1, last: "0 passed, 1 failed, 0 skipped" },
  {
    title: "a file without suites",
    source: "",
    code: 1,
    last: "0 passed, 1 failed, 0 skipped",
    says: /no tests/,
  },
  {
    title: "an asynchronous define",
    source: `suite("s", async (test) => { await 0; ${oneGood} });`,
    code: 1,
    last: "0 passed, 1 failed, 0 skipped",
  },
  {
    title: "process.exit(0) in a test",
    source: inSuite(`${oneGood} test("leaves", () => process.exit(0)); test("never", () => {});`),
    code: 1,
    last: "1 passed, 2 failed, 0 skipped",
    says: /never: did not run/,
  },
  {
    title: "a kill in a test",
    source: inSuite(`${oneGood} test("dies", () => { process.kill(process.pid, "SIGKILL"); });`),
    code: 1,
    last: "0 passed, 1 failed, 0 skipped",
    says: /SIGKILL, and left no report/,
  },
  {
    title: "an exception outside the test's promise",
    source: inSuite(
      `test("crashes", () => new Promise(() => setImmediate(() => { throw new Error("thrown elsewhere"); })));`,
    ),
    code: 1,
    last: "0 passed, 1 failed, 0 skipped",
    says: /thrown elsewhere/,
  },
  {
    title: "a crash after all tests passed",
    source: `${inSuite(oneGood)} setTimeout(() => { throw new Error("afterwards"); }, 50);`,
    code: 1,
    last: "1 passed, 1 failed, 0 skipped",
    says: /afterwards/,
  },
  {
    title: "a promise that nothing settles",
    source: inSuite(`test("hangs", () => new Promise(() => {})); ${oneGood}`),
    code: 1,
    last: "0 passed, 2 failed, 0 skipped",
    says: /hangs: did not finish/,
  },
  {
    title: "a test beyond its time limit",
    source: inSuite(
      `test("slow", () => new Promise((done) => setTimeout(done, 400)), { timeoutMs: 20 }); ${oneGood}`,
    ),
    code: 1,
    last: "1 passed, 1 failed, 0 skipped",
    says: /slow: did not finish in 20 ms/,
  },
  {
    title: "a file beyond its time limit",
    source: `${inSuite(oneGood)} setInterval(() => {}, 1000);`,
    code: 1,
    last: "0 passed, 1 failed, 0 skipped",
    says: /took longer than 2000 ms/,
    args: ["--file-time-ms", "2000"],
  },
  {
    title: "undefined thrown",
    source: inSuite(`test("odd", () => { throw undefined; }); ${oneGood}`),
    code: 1,
    last: "1 passed, 1 failed, 0 skipped",
  },
  {
    title: "a suite declared while another runs",
    source: `${inSuite(oneGood)} setTimeout(() => suite("late", (test) => { test("bad", () => assert.ok(0)); }), 50);`,
    code: 1,
    last: "1 passed, 1 failed, 0 skipped",
  },
  {
    title: "a declared skip",
    source: inSuite(`${oneGood} test.skip("later", "needs a moon");`),
    code: 1,
    last: "1 passed, 1 failed, 1 skipped",
    says: /skipped: s › later: needs a moon[\s\S]*failed: test\/a\.test\.js: 1 skipped: a plain file needs only Node/,
  },
  {
    title: "a skip without a reason",
    source: inSuite(`${oneGood} test.skip("later");`),
    code: 1,
    last: "1 passed, 1 failed, 1 skipped",
  },
  {
    title: "nothing but skips",
    source: inSuite(`test.skip("later", "needs a moon");`),
    code: 1,
    last: "0 passed, 1 failed, 1 skipped",
  },
];

suite("test runner: traps", (test) => {
  for (const { title, source, args = [], ...expected } of traps) {
    test(title, () => expectRun({ "test/a.test.js": source }, expected, { args }));
  }

  test("a broken file does not hide behind good ones, flow files included", () =>
    expectRun(
      {
        "test/a.test.js": inSuite(oneGood),
        "store/test/b.test.js": inSuite(oneGood),
        "test/flow/c.test.js": inSuite(`test("bad", () => assert.ok(false));`),
        "elsewhere/d.test.js": "throw new Error('not a test');",
      },
      { code: 1, last: "2 passed, 1 failed, 0 skipped" },
    ));

  const togetherWith = (source: string) => ({
    "test/a.test.js": inSuite(oneGood),
    "test/b.test.js": source,
    "test/c.test.js": `import { existsSync } from "node:fs"; ${inSuite(oneGood)}`,
  });

  test("files that share a process are judged one by one: a test that fails", () =>
    expectRun(togetherWith(inSuite(`test("bad", () => assert.ok(false));`)), {
      code: 1,
      last: "2 passed, 1 failed, 0 skipped",
      says: /ok {3}test\/a\.test\.js .*\nFAIL test\/b\.test\.js .* 1 failed\nok {3}test\/c\.test\.js/,
    }));

  test("files that share a process are judged one by one: a file that cannot be loaded", () =>
    expectRun(togetherWith("throw new Error('no such thing');"), {
      code: 1,
      last: "2 passed, 1 failed, 0 skipped",
      says: /failed: test\/b\.test\.js: cannot be loaded: Error: no such thing/,
    }));

  test("files that share a process are judged one by one: no suites", () =>
    expectRun(togetherWith("export {};"), {
      code: 1,
      last: "2 passed, 1 failed, 0 skipped",
      says: /FAIL test\/b\.test\.js .* no tests/,
    }));

  test("what ends a process that files share fails each of them", () =>
    expectRun(togetherWith(inSuite(`test("kills", () => process.kill(process.pid, "SIGKILL"));`)), {
      code: 1,
      last: "0 passed, 3 failed, 0 skipped",
      says: /failed: test\/c\.test\.js: ended with SIGKILL, and left no report/,
    }));

  test("an exit in a process that files share fails what has not run", () =>
    expectRun(togetherWith(inSuite(`test("leaves", () => process.exit(0));`)), {
      code: 1,
      last: "1 passed, 2 failed, 0 skipped",
      says: /failed: test\/c\.test\.js: s › good: did not run/,
    }));

  test("no files", () =>
    expectRun({}, { code: 1, last: "0 passed, 0 failed, 0 skipped", says: /no test file/ }));

  test("a filter that matches nothing", () =>
    expectRun(
      { "test/a.test.js": inSuite(oneGood) },
      { code: 1, last: "0 passed, 0 failed, 0 skipped", says: /no test file matches zebra/ },
      { args: ["zebra"] },
    ));

  test("a filter takes the files it names", () =>
    expectRun(
      { "test/a.test.js": inSuite(oneGood), "test/b.test.js": "throw new Error('not asked for');" },
      { code: 0, last: "1 passed, 0 failed, 0 skipped" },
      { args: ["test/a"] },
    ));

  const bothTiers = {
    "test/a.test.js": inSuite(oneGood),
    "test/a.slow.test.js": inSuite(`${oneGood} test.skip("later", "needs a moon");`),
    "test/b.slow.test.js": inSuite(`test("bad", () => assert.ok(false));`),
  };

  test("without words, plain files alone run", () =>
    expectRun(bothTiers, { code: 0, last: "1 passed, 0 failed, 0 skipped" }));

  test("--slow runs the slow files alone", () =>
    expectRun(bothTiers, { code: 1, last: "1 passed, 1 failed, 1 skipped" }, { args: ["--slow"] }));

  test("words find files of both tiers, and a slow file may skip", () =>
    expectRun(bothTiers, { code: 0, last: "2 passed, 0 failed, 1 skipped" }, { args: ["test/a"] }));

  test("--slow with words finds slow files alone", () =>
    expectRun(bothTiers, { code: 0, last: "1 passed, 0 failed, 1 skipped" }, { args: ["--slow", "test/a"] }));

  test("a plain file finds no program but those that come with Node and the shell", () => {
    const source = inSuite(`test("alone", async () => {
      const { spawnSync } = await import("node:child_process");
      assert.is(spawnSync("openssl", ["version"]).error?.code, "ENOENT");
      assert.is(spawnSync("node", ["--version"]).status, 0);
    });`);
    return expectRun({ "test/a.test.js": source }, { code: 0, last: "1 passed, 0 failed, 0 skipped" });
  });

  test("flow files run one at a time, and others beside them", () => {
    const one = `
      import { existsSync, mkdirSync, rmdirSync } from "node:fs";
      import { setTimeout as sleep } from "node:timers/promises";
      ${inSuite(`test("alone", async () => {
        mkdirSync("alone");
        while (!existsSync("other")) await sleep(5);
        await sleep(100);
        rmdirSync("alone");
      });`)}`;
    const other = `
      import { existsSync, mkdirSync } from "node:fs";
      import { setTimeout as sleep } from "node:timers/promises";
      ${inSuite(`test("beside", async () => {
        while (!existsSync("alone")) await sleep(5);
        mkdirSync("other");
      });`)}`;
    const files = { "test/flow/a.test.js": one, "test/flow/b.test.js": one, "test/z.test.js": other };
    return expectRun(files, { code: 0, last: "3 passed, 0 failed, 0 skipped" });
  });

  test("the slowest files and the time of all are said before the last line", () =>
    expectRun(
      { "test/a.test.js": inSuite(oneGood) },
      {
        code: 0,
        last: "1 passed, 0 failed, 0 skipped",
        says: /\nslow: test\/a\.test\.js \(\d+\.\d s\)\n\d+\.\d s, \d+ files at a time\n1 passed/,
      },
    ));

  test("each file that the runner names is there", () => {
    const isThere = (name: string, endings: readonly string[]) =>
      endings.some((ending) => existsSync(new URL(`./${name}${ending}`, import.meta.url)));
    for (const name of filesWithOwnProcess) {
      assert.ok(isThere(name, [".test.js", ".slow.test.js"]), name);
    }
    for (const name of Object.keys(plainExceptions)) assert.ok(isThere(name, [".test.js"]), name);
  });
});

suite("test runner: InfluxDB suites without influxd", (test) => {
  const files = {
    "test/a.slow.test.js": `${inSuite(oneGood)}
      influxSuite("i", (test) => { test.before(() => { throw 1; }); test("one", () => {}); test("two", () => {}); });`,
  };
  const last = "1 passed, 0 failed, 2 skipped";
  const says = /THE INFLUXDB SUITES WERE SKIPPED: 2 tests[\s\S]*no Go/;
  const missing = "no influxd 2, and to build it there is no Go";

  test("are skipped loudly", () => expectRun(files, { code: 0, last, says }, { missing, args: ["--slow"] }));
  test("fail the run with CI=true", () =>
    expectRun(files, { code: 1, last, says }, { missing, args: ["--slow"], ci: "true" }));
});

suite("test helpers", (test) => {
  test("until returns what it waited for", async () => {
    let calls = 0;
    const value = await until(() => (++calls < 3 ? undefined : { calls }), { what: "three calls" });
    assert.is(value.calls, 3);
  });

  test("until names what did not come, and the last error", async () => {
    const never = () =>
      until(() => Promise.reject(new Error("still dark")), { what: "sunrise", timeoutMs: 20 });
    await rejects(never, /^waited 20 ms for sunrise; last: still dark$/);
  });

  test("rejects fails when nothing rejects", async () => {
    await rejects(() => rejects(async () => 1), /expected a rejection/);
    await rejects(() => rejects(() => Promise.reject(new Error("a")), /b/), /matching/);
  });
});

async function expectRun(
  files: Readonly<Record<string, string>>,
  expected: Expected,
  how: { readonly args?: readonly string[]; readonly missing?: string; readonly ci?: string } = {},
): Promise<void> {
  await withTempDir(async (root) => {
    await writeFile(join(root, "package.json"), '{"type":"module"}');
    for (const [path, source] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), `${header}\n${source}\n`);
    }
    const { code, output } = await runTests(root, how.args ?? [], {
      CI: how.ci ?? "",
      INFLUX_URL: "",
      TIDEMARK_TEST_INFLUXD: how.missing ? "" : process.execPath, // none of these files starts it
      TIDEMARK_TEST_INFLUXD_MISSING: how.missing ?? "",
    });
    assert.is(output.trimEnd().split("\n").at(-1), expected.last, output);
    assert.is(code, expected.code, output);
    if (expected.says) assert.match(output, expected.says);
  });
}

async function runTests(
  root: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [runner, "--root", root, ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output: Buffer.concat(chunks).toString() };
}
