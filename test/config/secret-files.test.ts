/** Secrets from the files that `<NAME>_FILE` names. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, readConfig } from "../../src/config/config.js";
import { secretSettings } from "../../src/config/secret-files.js";
import { assert, suite, withTempDir } from "../suite.js";

type Environment = Readonly<Record<string, string>>;

/** One value that each takes, and what it takes beside it. */
const examples: Readonly<Record<(typeof secretSettings)[number], readonly [string, Environment]>> = {
  API_KEY: ["app:a-secret-of-16-or-more", {}],
  ADMIN_PASSWORD: ["correct horse", {}],
  MASTER_KEY: ["ab".repeat(32), {}],
  LIBSQL_URL: ["libsql://db.example", { MASTER_KEY: "ab".repeat(32) }],
  LIBSQL_AUTH_TOKEN: ["tok en", { MASTER_KEY: "ab".repeat(32), LIBSQL_URL: "libsql://db.example" }],
  INFLUX_URL: ["http://user:pass@influx.example:8086", { INFLUX_TOKEN: "t", INFLUX_ORG: "o" }],
  INFLUX_TOKEN: ["to=ken==", { INFLUX_URL: "http://influx.example:8086", INFLUX_ORG: "o" }],
  BROKER_PASSWORD: [" spaces stay ", { BROKER_URL: "mqtt://b.example", BROKER_USERNAME: "u" }],
  JOURNAL_URL: [
    "kafkas://user:pass@k.example:9092/t",
    { INFLUX_URL: "http://influx.example:8086", INFLUX_TOKEN: "t", INFLUX_ORG: "o" },
  ],
  SMTP_URL: ["smtps://user:pass@mail.example", {}],
  MAP_TILES_URL: ["https://tiles.example/{z}/{x}/{y}?key=k", { MAP_TILES_ATTRIBUTION: "x" }],
};

function problemsOf(environment: Environment): readonly string[] {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

suite("secrets from files", (test) => {
  test("give what the environment gives, but for a newline at the end", () =>
    withTempDir(async (dir) => {
      const path = join(dir, "secret");
      for (const name of secretSettings) {
        const [value, others] = examples[name];
        const expected = readConfig({ ...others, [name]: value });
        for (const end of ["", "\n", "\r\n"]) {
          await writeFile(path, value + end);
          assert.equal(readConfig({ ...others, [`${name}_FILE`]: path, [name]: "" }), expected, name);
        }
      }
      await writeFile(path, "pass word\n\n");
      assert.is(readConfig({ ADMIN_PASSWORD_FILE: path }).adminPassword, "pass word\n");
    }));

  test("both names, no file, an empty one and a wrong value are errors that name the file's setting", () =>
    withTempDir(async (dir) => {
      const path = join(dir, "secret");
      await writeFile(path, "short\n");
      assert.equal(problemsOf({ ADMIN_PASSWORD_FILE: path }), [
        "ADMIN_PASSWORD_FILE: must have 8 characters or more",
      ]);
      assert.equal(problemsOf({ ADMIN_PASSWORD_FILE: path, ADMIN_PASSWORD: "long enough" }), [
        "ADMIN_PASSWORD, ADMIN_PASSWORD_FILE: are not set together",
      ]);
      await writeFile(path, "\n");
      assert.equal(problemsOf({ MASTER_KEY_FILE: path, API_KEY_FILE: `${path}.none`, SMTP_URL_FILE: dir }), [
        `API_KEY_FILE: cannot read ${path}.none: ENOENT`,
        `MASTER_KEY_FILE: ${path} is empty`,
        `SMTP_URL_FILE: cannot read ${dir}: EISDIR`,
      ]);
      assert.equal(problemsOf({ ADMIN_PASSWORD_FILE: "" }), []);
    }));
});
