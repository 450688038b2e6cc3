/** The data folder: who may look into it, and what is said of one that cannot be used. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { program } from "../program.js";
import { assert, suite, withTempDir } from "../suite.js";
import { listenersOff } from "../world.js";
import { startService } from "./support.js";

async function runToEnd(
  dataDir: string,
  args: readonly string[],
): Promise<{ code: number | null; errors: string }> {
  const env = { DATA_DIR: dataDir, HTTP_PORT: "0", MQTT_PORT: "0", ...listenersOff };
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ["ignore", "ignore", "pipe"] });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  // Not by a signal that it may wait for something with.
  const late = setTimeout(() => child.kill("SIGKILL"), 60_000);
  const [code] = (await once(child, "exit")) as [number | null];
  clearTimeout(late);
  return { code, errors };
}

suite("data folder", (test) => {
  test("what the service makes is for its own user alone", async () => {
    await withTempDir(async (dir) => {
      const folder = join(dir, "made", "here");
      const service = await startService(folder);
      await service.call("GET", "/readyz");
      const modes = async (at: string): Promise<[string, number][]> => {
        const { mode } = await stat(at);
        const inside = (await readdir(at, { withFileTypes: true })).map(async (one) => {
          const path = join(at, one.name);
          return one.isDirectory() ? modes(path) : [[path, (await stat(path)).mode] as [string, number]];
        });
        return [[at, mode], ...(await Promise.all(inside)).flat()];
      };
      const found = await modes(join(dir, "made"));
      await service.stop();
      assert.ok(found.some(([path]) => path.endsWith("metadata.db")));
      assert.ok(found.some(([path]) => path.endsWith("catalog.db")));
      assert.equal(
        found.filter(([, mode]) => (mode & 0o077) !== 0),
        [],
      );
    });
  });

  test("one that cannot be used ends a start, and a tool, with code 2 and the reason", async () => {
    await withTempDir(async (dir) => {
      const file = join(dir, "a-file");
      await writeFile(file, "");
      const places = [
        file,
        join(file, "below"),
        ...(existsSync("/proc/self") ? ["/proc/tidemark", "/proc"] : []),
      ];
      const runs = [...places.map((place) => [place, "serve"]), [file, "tenant", "list"]] as const;
      for (const [place = "", ...args] of runs) {
        const { code, errors } = await runToEnd(place, args);
        assert.is(code, 2, `${place} ${args}: ${errors}`);
        assert.match(errors, /^tidemark: DATA_DIR: cannot write /m);
      }
    });
  });
});
