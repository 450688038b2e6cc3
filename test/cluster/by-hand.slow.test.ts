/** npm run cluster: what it prints is there, and Ctrl-C leaves nothing. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectAsync } from "mqtt";
import { assert, influxKafkaSuite, rejects, until, withTempDir } from "../suite.js";

influxKafkaSuite("a cluster by hand", (test) => {
  test("starts, says where everything is, and ends without a trace", () =>
    withTempDir(async (dir) => {
      const tmp = join(dir, "tmp");
      await mkdir(tmp);
      const child = spawn(process.execPath, [fileURLToPath(new URL("by-hand.js", import.meta.url))], {
        env: { ...process.env, TMPDIR: tmp },
        stdio: ["ignore", "pipe", "inherit"],
      });
      let printed = "";
      child.stdout.on("data", (chunk: Buffer) => {
        printed += chunk.toString();
      });
      const ended = once(child, "exit");
      process.once("exit", () => child.kill("SIGKILL"));
      await until(() => printed.includes("Ctrl-C ends all") || child.exitCode !== null, {
        what: "its start",
      });
      const [, devices = ""] = /devices {4}(\S+)/.exec(printed) ?? [];
      const [, api, key = ""] = /API {8}(\S+) {3}\(key (\S+)\)/.exec(printed) ?? [];
      const authorization = `Basic ${Buffer.from(key).toString("base64")}`;
      const answer = await fetch(`${api}/api/v1/products`, { headers: { authorization } });
      assert.is(answer.status, 200, printed);
      const once_ = { reconnectPeriod: 0, username: "nobody", password: "none" };
      await rejects(() => connectAsync(devices, once_, false), /Bad username or password/);
      child.kill("SIGINT");
      assert.equal(await ended, [0, null], printed);
      // The JVM keeps its own folder of statistics beside ours.
      assert.equal(
        (await readdir(tmp)).filter((name) => name.startsWith("tidemark-")),
        [],
      );
    }));
});
