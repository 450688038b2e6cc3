/**
 * Every setting of src/config/config.ts stands in the table of docs/configuration.md with the default and the unit that
 * it has, refuses what makes no sense with a line that names it, and the documents name no setting that does not exist.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigError, readConfig } from "../../src/config/config.js";
import { secretSettings } from "../../src/config/secret-files.js";
import { errorStatus } from "../../src/http/errors.js";
import { repositoryRoot } from "../repository.js";
import { assert, suite } from "../suite.js";

const root = repositoryRoot();
const textOf = (...path: string[]): string => readFileSync(join(root, ...path), "utf8");
const source = textOf("src", "config", "config.ts");
const configuration = textOf("docs", "configuration.md");

interface Setting {
  readonly name: string;
  /** As the schema has it: a number for numeric ones, null where there is none or it is a word. */
  readonly byDefault: number | null;
}

const schemaText = /const schema = z\.object\(\{\n(.*?)\n\}\);/s.exec(source)?.[1] ?? "";
const settings = schemaText.split(/\n(?= {2}[A-Z])/).flatMap((text): Setting[] => {
  const [, name] = /^ *([A-Z][A-Z0-9_]*):/.exec(text) ?? [];
  const [, expression] = /prefault\((?:String\()?"?([\d_ *]+)"?\)/.exec(text) ?? [];
  if (name === undefined) return [];
  return [{ name, byDefault: expression === undefined ? null : product(expression) }];
});

/** Calculates a product such as "10 * 2 ** 30". */
function product(expression: string): number {
  const powers = expression.replaceAll("_", "").split(/ \* /);
  return powers
    .map((one) => one.split(" ** ").map(Number))
    .reduce((result, [base = 1, exponent = 1]) => result * base ** exponent, 1);
}

/** What the start says of a value, in lines; none where it is taken. */
function problemsOf(name: string, value: string): readonly string[] {
  try {
    readConfig({ [name]: value });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** What a numeric setting may be; null for any other. */
function rangeOf(name: string): { readonly min: number; readonly max: number } | null {
  const told = problemsOf(name, "neither number nor word").join(" ");
  const [, min, max] = /a whole number from (\d+) to (\d+)/.exec(told) ?? [];
  return min === undefined ? null : { min: Number(min), max: Number(max) };
}

const numeric = settings.flatMap((one) => {
  const range = rangeOf(one.name);
  return range === null ? [] : [{ ...one, ...range }];
});

/** What 0 means where it is taken. */
const zero: Readonly<Record<string, string>> = {
  HTTP_PORT: "a free port",
  HTTPS_PORT: "a free port",
  MQTT_PORT: "a free port",
  MQTTS_PORT: "a free port",
  MQTTSS_PORT: "a free port",
  WS_PORT: "a free port",
  WSS_PORT: "a free port",
  NODE_NUMBER: "the first process",
  EVENT_RETENTION_BYTES: "no settled segment is kept",
  CHANGE_LOG_BYTES: "none is kept",
  CONTROL_LOG_BYTES: "none is kept",
  JOURNAL_BACKLOG_BYTES: "nothing is taken that the series store has not caught up with",
  FREE_BYTES_MIN: "to the last byte of the disk",
  POINT_RETENTION_DAYS: "for ever",
  IMPORT_BYTES_MAX: "no imports",
  KEEP_ALIVE_MAX: "the client's own",
  ALERT_RETENTION_DAYS: "for ever",
  BACKUP_KEEP: "all of them",
  DEVICE_CONNECTIONS_MAX: "no limit",
  DEVICE_MESSAGES_PER_SECOND: "no limit",
  DEVICE_BYTES_PER_SECOND: "no limit",
  TENANT_CONNECTIONS_MAX: "no limit",
  TENANT_MESSAGES_PER_SECOND: "no limit",
  TENANT_BYTES_PER_SECOND: "no limit",
  TENANT_MAIL_RECIPIENTS_PER_HOUR: "no limit",
  TENANT_TEST_RECIPIENTS_PER_HOUR: "no limit",
};

/** Settings that the table leaves out. */
const undocumented: Readonly<Record<string, string>> = {
  TIDEMARK_HOLD_SERIES: "for benches alone, see bench/README",
};

/** What is written like a setting, and is none. */
const otherNames: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: "of the C library",
  METRICS_SECRET: "of compose.yaml",
  PYTHON_WITH_PEERS: "of the test suite",
  TIDEMARK_NODE_SEED: "of the test suite",
  ...Object.fromEntries(Object.keys(errorStatus).map((code) => [code, "an errorCode"])),
};

/** The unit by the end of a name, and how the table says it. */
const units: Readonly<Record<string, RegExp>> = {
  BYTES: /bytes/,
  BYTES_MAX: /bytes/,
  BYTES_MIN: /bytes/,
  DAYS: /days/,
  SECONDS: /seconds|for so long/,
  SECONDS_MAX: /seconds/,
};

/** Rows of the table that name a setting: names, meaning, default. */
const rows = configuration
  .split("\n")
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
  .filter((cells) => cells.length === 5 && /^`[A-Z]/.test(cells[1] ?? ""))
  .map(([, names = "", meaning = "", byDefault = ""]) => ({
    names: [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? ""),
    meaning,
    byDefault,
  }));
const rowOf = (name: string) => rows.find(({ names }) => names.includes(name));

/** How a number may be written. */
function forms(value: number): string[] {
  const shown = [String(value), value.toLocaleString("en-US")];
  for (const [unit, size] of [
    ["MiB", 2 ** 20],
    ["GiB", 2 ** 30],
    ["TiB", 2 ** 40],
  ] as const) {
    if (value > 0 && value % size === 0) shown.push(`${value / size} ${unit}`);
  }
  return shown;
}

suite("settings", (test) => {
  test("are found in the schema, all of them", () => {
    const read = new Set([...source.matchAll(/\benv\.([A-Z][A-Z0-9_]*)/g)].map(([, name]) => name));
    const names = settings.map(({ name }) => name);
    assert.equal(
      [...read].filter((name) => !names.includes(name ?? "")),
      [],
    );
    assert.ok(
      names.length >= 60 && numeric.length >= 30,
      `${names.length} settings, ${numeric.length} numeric`,
    );
    assert.equal(new Set(names).size, names.length);
  });

  test("stand in the table of docs/configuration.md with their default and unit", () => {
    for (const { name } of settings) {
      assert.ok(rowOf(name) !== undefined || name in undocumented, `${name} is not in docs/configuration.md`);
    }
    for (const { name, byDefault, min } of numeric) {
      const row = rowOf(name);
      if (row === undefined || byDefault === null) throw new Error(`${name} has no default, or no row`);
      const cells = row.byDefault.replaceAll("`", "").split(/, (?=\d)|; /);
      const isShown = forms(byDefault).some((form) => cells.includes(form));
      assert.ok(isShown, `${name}: its default is ${byDefault}, docs/configuration.md says ${row.byDefault}`);
      const unit = Object.keys(units).findLast((end) => name.endsWith(`_${end}`));
      if (unit !== undefined) assert.match(row.meaning, units[unit] as RegExp, `${name}: its unit`);
      if (min > 1)
        assert.ok(
          forms(min).some((form) => row.meaning.includes(form)),
          `${name}: from ${min}`,
        );
    }
  });

  test("refuse zero, less, too much and what is no whole number, and are named", () => {
    for (const { name, byDefault, min, max } of numeric) {
      const wrong = ["-1", "1.5", "1e3", "0x10", "NaN", "Infinity", " ", String(max + 1), "9".repeat(400)];
      if (min > 0) wrong.push("0", String(min - 1));
      else assert.ok(name in zero, `${name}: 0 is taken, and nothing says what it means`);
      for (const value of wrong) {
        const problems = problemsOf(name, value);
        assert.ok(
          problems.some((line) => line.startsWith(`${name}: must be `)),
          `${name}=${value}: ${problems.join() || "taken"}`,
        );
      }
      for (const value of [min, byDefault ?? min, max]) {
        assert.equal(problemsOf(name, String(value)), [], `${name}=${value}`);
      }
    }
    const named = numeric.filter(({ min }) => min === 0).map(({ name }) => name);
    assert.equal(
      Object.keys(zero).filter((name) => !named.includes(name)),
      [],
      "reasons without a setting",
    );
  });

  test("that hold secrets may come from files, and the documents name each", () => {
    const names = settings.map(({ name }) => name);
    const paragraph = /\*\*Secrets from files\.\*\*.*/.exec(configuration)?.[0] ?? "";
    for (const name of secretSettings) {
      assert.ok(names.includes(name), name);
      assert.ok(paragraph.includes(`\`${name}\``), `docs/configuration.md, secrets from files: ${name}`);
    }
    // Paths of PEM files, which are no secrets, have the other names of this kind.
    const secret = /(_TOKEN|_PASSWORD|_SECRET|API_KEY|MASTER_KEY)$/;
    const missing = names.filter((name) => secret.test(name) && !secretSettings.some((one) => one === name));
    assert.equal(missing, []);
  });

  test("that the documents name exist", () => {
    const known = new Set([
      ...settings.map(({ name }) => name),
      ...secretSettings.map((name) => `${name}_FILE`),
    ]);
    const folders = [["."], ["docs"], ["docs", "brokers"]];
    for (const folder of folders) {
      const files = readdirSync(join(root, ...folder)).filter((name) => name.endsWith(".md"));
      for (const file of files.filter((name) => name !== "CHANGELOG.md")) {
        const text = textOf(...folder, file);
        for (const [, name = ""] of text.matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)[`=]/g)) {
          assert.ok(known.has(name) || name in otherNames, `${folder.join("/")}/${file} names ${name}`);
        }
      }
    }
    for (const { names } of rows) {
      for (const name of names)
        assert.ok(known.has(name) || name in otherNames, `docs/configuration.md names ${name}`);
    }
  });
});
