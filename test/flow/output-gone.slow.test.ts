/** The program whose output nobody reads any more: the service goes on, a command ends without a word. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { program, programEnvironment } from "../program.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import { listenersOff } from "../world.js";
import { provision, startService } from "./support.js";

const serving = { HTTP_PORT: "0", MQTT_PORT: "0", FREE_BYTES_MIN: "0", LOG_LEVEL: "debug", ...listenersOff };

/** Its HTTP address, from a file: its log may be read by nobody. */
async function httpOf(dir: string): Promise<string> {
  const read = () => readFile(join(dir, "service.json"), "utf8").catch(() => null);
  await until(async () => (await read()) !== null, { what: "the service" });
  return (JSON.parse((await read()) ?? "") as { http: string }).http;
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
  assert.is(child.exitCode, 0);
}

async function dropped(dir: string, http: string): Promise<number> {
  const { apiKey } = JSON.parse(await readFile(join(dir, "first-start.json"), "utf8")) as { apiKey: string };
  const answer = await fetch(`${http}/metrics`, { headers: { Authorization: `Bearer ${apiKey}` } });
  assert.is(answer.status, 200);
  return Number(/^tidemark_log_lines_dropped_total (\d+)$/m.exec(await answer.text())?.[1]);
}

/** Each writes a line. */
async function request(http: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) assert.is((await fetch(`${http}/readyz`)).status, 200);
}

/** Runs `tidemark` until it ends; its output is closed when its first bytes have come, or (`atOnce`) before. */
async function cutOff(
  dir: string,
  args: readonly string[],
  atOnce = true,
): Promise<{ code: number | null; errors: string }> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...programEnvironment, DATA_DIR: dir },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  if (atOnce) child.stdout.destroy();
  else child.stdout.once("data", () => child.stdout.destroy());
  await once(child, "close");
  return { code: child.exitCode, errors };
}

suite("output that nobody reads", (test) => {
  test("the service goes on when the reader of its log has ended, and counts the lines", () =>
    withTempDir(async (dir) => {
      const env = { ...programEnvironment, ...serving, DATA_DIR: dir };
      const child = spawn(process.execPath, [program, "serve"], { env, stdio: ["ignore", "pipe", "pipe"] });
      child.stdout.once("data", () => child.stdout.destroy());
      child.stderr.destroy();
      const http = await httpOf(dir);
      await request(http, 20);
      assert.ok((await dropped(dir, http)) >= 20);
      await stop(child);
    }));

  test("the next reader of a pipe gets the log again, and how many lines are missing", () =>
    withTempDir(async (dir) => {
      const pipe = join(dir, "log");
      execFileSync("mkfifo", [pipe]);
      const env = { ...programEnvironment, ...serving, DATA_DIR: join(dir, "data") };
      const child = spawn("/bin/sh", ["-c", `exec "$0" "$1" serve >"$2"`, process.execPath, program, pipe], {
        env,
        stdio: ["ignore", "ignore", "inherit"],
      });
      const first = createReadStream(pipe);
      await once(first, "data");
      first.destroy();
      const http = await httpOf(env.DATA_DIR);
      await request(http, 20);
      let text = "";
      const second = createReadStream(pipe).on("data", (chunk) => {
        text += chunk;
      });
      await until(
        async () => {
          await request(http, 1);
          return /"msg":"log lines were dropped.*"lines":\d+/.test(text);
        },
        { what: "the log" },
      );
      await request(http, 3);
      await until(() => text.trimEnd().split("\n").length > 3, { what: "further lines" });
      second.destroy();
      await stop(child);
    }));

  test("commands end with the code of SIGPIPE and print nothing; errors that nobody reads change no code", () =>
    withTempDir(async (dir) => {
      const service = await startService(dir);
      const [device] = await provision(service, 1);
      const rows = Array.from({ length: 60_000 }, (_, i) => {
        const time = new Date(Date.UTC(2026, 0, 1) + i * 1000).toISOString();
        return `${device?.deviceID},n,${time},${i}`;
      });
      const file = join(dir, "points.csv");
      await writeFile(file, ["deviceID,dataPointID,time,value", ...rows, ""].join("\n"));
      assert.equal(await cutOff(dir, ["import", file]).then(({ code }) => code), 141);
      const exporting = ["export", String(device?.deviceID), "--start", "2026-01-01 00:00:00"];
      assert.equal(await cutOff(dir, exporting, false), { code: 141, errors: "" });
      for (const args of [
        ["help"],
        ["verify", "--help"],
        ["version"],
        ["completion", "bash"],
        ["tenant", "list"],
        ["set-aside", "list"],
        ["verify"],
        ["resettle", "2026-01-01 00:00:00"],
        exporting,
      ]) {
        const { code, errors } = await cutOff(dir, args);
        assert.is(code, 141, args.join(" "));
        assert.not.match(errors, /EPIPE|Error/, args.join(" "));
      }
      await service.stop();
      // Without a service the command reads the stores itself.
      assert.equal(await cutOff(dir, [...exporting], false), { code: 141, errors: "" });
      const env = { ...programEnvironment, DATA_DIR: dir };
      for (const [args, code] of [
        [["resettle", "2026-01-01 00:00:00"], 1],
        [["nothing-like-it"], 2],
      ] as const) {
        const child = spawn(process.execPath, [program, ...args], {
          env,
          stdio: ["ignore", "ignore", "pipe"],
        });
        child.stderr.destroy();
        await once(child, "exit");
        assert.is(child.exitCode, code, args.join(" "));
      }
    }));

  test("an output that cannot be written is an error", () =>
    withTempDir(async (dir) => {
      const shell = `exec "$0" "$1" help >/dev/full`;
      const child = spawn("/bin/sh", ["-c", shell, process.execPath, program], {
        env: { ...programEnvironment, DATA_DIR: dir },
        stdio: ["ignore", "ignore", "pipe"],
      });
      let errors = "";
      child.stderr.on("data", (chunk) => {
        errors += chunk;
      });
      await once(child, "close");
      assert.is(child.exitCode, 1);
      assert.match(errors, /^tidemark: cannot write to standard output: .*ENOSPC/);
    }));
});
