/** The command line of the program: its words, and what a process of its own ends with. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { helpOn, helpWanted } from "../../src/cli/usage.js";
import { program } from "../program.js";
import { assert, suite, withTempDir } from "../suite.js";

function tidemark(env: NodeJS.ProcessEnv, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    encoding: "utf8",
    env,
  });
  return { status, stdout, stderr };
}

/** Settings that would end any start. */
const wrong = { LOG_LEVEL: "loud", DATA_DIR: "/nowhere/to/be/made" };
const commands = [
  "serve",
  "tenant",
  "import",
  "export",
  "redecode",
  "resettle",
  "verify",
  "mosquitto-config",
  "set-aside",
  "version",
  "completion",
  "help",
];

suite("command line", (test) => {
  test("help is asked for by word or by option, of all commands or of one", () => {
    for (const args of ["--help", "-h", "help"]) assert.is(helpWanted([args]), null);
    for (const args of ["serve --help", "help serve", "serve -h", "serve x --help"]) {
      assert.is(helpWanted(args.split(" ")), "serve", args);
    }
    for (const args of ["help --help", "help -h"]) assert.is(helpWanted(args.split(" ")), "help", args);
    for (const args of [[], ["serve"], ["tenant", "add", "help", "h"], [""]]) {
      assert.is(helpWanted(args), undefined, args.join(" "));
    }
  });

  test("each command says how it is used and what it does", () => {
    const all = helpOn(null) ?? "";
    for (const command of commands) {
      const own = helpOn(command) ?? "";
      assert.match(own, /^Usage: tidemark .+\n(.*\n)*\n[A-Z].+\.\n/);
      assert.ok(own.includes(command), command);
      const [, about = ""] = /\n\n(.+)\n/.exec(own) ?? [];
      assert.ok(all.includes(about), about);
    }
    for (const none of ["nix", "", "toString", "--help"]) assert.is(helpOn(none), undefined);
  });

  test("help needs no settings; what is no command, or no setting, ends with 2", () => {
    assert.equal(tidemark(wrong, "--help"), { status: 0, stdout: helpOn(null), stderr: "" });
    assert.equal(tidemark(wrong, "serve", "--help"), { status: 0, stdout: helpOn("serve"), stderr: "" });
    for (const args of [["nix"], ["help", "toString"]]) {
      const { status, stdout, stderr } = tidemark(wrong, ...args);
      assert.equal([status, stdout], [2, ""], args.join(" "));
      for (const command of commands) assert.ok(stderr.includes(command), stderr);
    }
    const extra = tidemark(wrong, "serve", "8080");
    assert.is(extra.status, 2);
    assert.match(extra.stderr, /serve takes no 8080/);
    const setting = tidemark(wrong, "serve");
    assert.is(setting.status, 2);
    assert.match(setting.stderr, /LOG_LEVEL: must be one of debug, info, warn, error/);
  });

  test("the version is printed with its commit, without settings", () => {
    const { status, stdout } = tidemark(wrong, "version");
    assert.is(status, 0);
    assert.match(stdout, /^tidemark \d+\.\d+\.\d+( \([0-9a-f]{12}\))?, Node \d+\.\d+\.\d+\n$/);
    assert.is(tidemark(wrong, "--version").stdout, stdout);
    assert.match(tidemark({}, "version").stdout, /, embedded, Node /);
    const influx = {
      INFLUX_URL: "http://127.0.0.1:1",
      INFLUX_TOKEN: "t",
      INFLUX_ORG: "o",
      INFLUX_BUCKET: "b",
    };
    assert.match(tidemark(influx, "version").stdout, /, influxdb, Node /);
    assert.is(tidemark(wrong, "version", "x").status, 2);
  });

  test("commands are completed in bash, and every shell gets a script that names all of them", () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { status, stdout } = tidemark(wrong, "completion", shell);
      assert.is(status, 0, shell);
      for (const command of commands) assert.ok(stdout.includes(command), `${shell}: ${command}`);
    }
    assert.is(tidemark(wrong, "completion", "cmd").status, 2);
    const script = `${tidemark(wrong, "completion", "bash").stdout}
      complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tidemark; echo "\${COMPREPLY[*]}"; }
      complete_words tidemark re; complete_words tidemark tenant ""; complete_words tidemark set-aside d`;
    const { stdout } = spawnSync("bash", ["-c", script], { encoding: "utf8" });
    assert.equal(stdout.trim().split("\n"), ["redecode resettle restore", "add list --help", "drop"]);
  });

  test("misuse of a command ends with 1 and its usage, and nothing is made", () =>
    withTempDir((dir) => {
      const { status, stderr } = tidemark({ DATA_DIR: dir }, "tenant");
      assert.is(status, 1);
      assert.is(
        stderr,
        "tidemark: usage: tidemark tenant add <name> <admin user name> | tidemark tenant list\n",
      );
      assert.equal(readdirSync(dir), []);
    }));
});
