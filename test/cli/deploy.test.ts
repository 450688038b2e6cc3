/** The image, the unit and the dashboards: what they name is there, and their own tools accept them. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { cp, mkdir, readFile, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { programMissing } from "../programs.js";
import { repositoryRoot } from "../repository.js";
import { assert, suite, withTempDir } from "../suite.js";
import { worldSuite } from "../world.js";

const root = repositoryRoot();
const read = (path: string): Promise<string> => readFile(join(root, path), "utf8");

suite("deployment files", (test) => {
  function testWith(program: "systemd-analyze" | "promtool", name: string, body: () => void): void {
    const missing = programMissing(program);
    if (missing === null) test(name, body);
    else test.skip(name, missing);
  }

  test("the image holds what the service needs, and no more", () =>
    withTempDir(async (dir) => {
      const dockerfile = await read("Dockerfile");
      const last = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
      for (const [, from = "", sources = "", to = ""] of last.matchAll(
        /^COPY (--from=build )?(.+) (\S+)$/gm,
      )) {
        for (const source of sources.split(" ")) {
          const name = from === "" ? source : source.replace(/^\/app\//, "");
          // Made by the build of the image alone.
          if (name === "dist/commit.txt") continue;
          const target = join(dir, to === "./" ? name : to);
          await mkdir(dirname(target), { recursive: true });
          if (name.startsWith("node_modules/")) await symlink(join(root, name), target);
          else await cp(join(root, name), target, { recursive: true });
        }
      }
      const version = execFileSync(process.execPath, ["src/tidemark.mjs", "version"], {
        cwd: dir,
        encoding: "utf8",
      });
      assert.match(version, /^tidemark \d/);
      const env = { DATA_DIR: join(dir, "data"), LOG_LEVEL: "loud" };
      const refused = spawnSync(process.execPath, ["src/tidemark.mjs", "serve"], {
        cwd: dir,
        env,
        encoding: "utf8",
      });
      assert.equal([refused.status, refused.stdout], [2, ""], refused.stderr);
      assert.match(last, /^USER node$/m);
      assert.ok(last.indexOf("USER node") < last.indexOf("CMD"), "it runs as that user");
    }));

  test("the image's health check tells an answer from none", async () => {
    const [, json = "[]"] = /^HEALTHCHECK [^\n]*\\\n {2}CMD (\[.*\])$/m.exec(await read("Dockerfile")) ?? [];
    const [, ...args] = JSON.parse(json) as string[];
    let status = 200;
    const server = createServer((_, response) => response.writeHead(status).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const port = String((server.address() as AddressInfo).port);
    const check = (): Promise<number | null> =>
      new Promise((resolve) => {
        spawn(process.execPath, args, { env: { HTTP_PORT: port } }).once("exit", resolve);
      });
    assert.is(await check(), 0);
    status = 503;
    assert.is(await check(), 1);
    await new Promise((resolve) => server.close(resolve));
    assert.is(await check(), 1);
  });

  test("the image and the unit keep malloc to two arenas", async () => {
    for (const [file, line] of [
      ["Dockerfile", /^ENV .*\bMALLOC_ARENA_MAX=2$/m],
      ["deploy/systemd/tidemark.service", /^Environment=MALLOC_ARENA_MAX=2$/m],
    ] as const) {
      assert.match(await read(file), line);
    }
  });

  testWith("systemd-analyze", "systemd accepts the unit, and finds it hardened", () => {
    const unit = join(root, "deploy/systemd/tidemark.service");
    const verified = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" });
    assert.equal(
      [verified.status, verified.stderr.includes("tidemark.service")],
      [0, false],
      verified.stderr,
    );
    const { status, stdout } = spawnSync(
      "systemd-analyze",
      ["security", "--offline=true", "--threshold=20", "--no-pager", unit],
      { encoding: "utf8" },
    );
    assert.is(status, 0, stdout.split("\n").slice(-4).join("\n"));
  });

  testWith("promtool", "Prometheus accepts the rules", () => {
    const { status, stderr, stdout } = spawnSync(
      "promtool",
      ["check", "rules", join(root, "deploy/prometheus/alerts.yml")],
      { encoding: "utf8" },
    );
    assert.is(status, 0, stderr + stdout);
  });
});

worldSuite("dashboards and alert rules", (test, world) => {
  test("every metric that they ask for is one of the service", async () => {
    const { text } = await world.call("GET", "/metrics");
    const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const [rules, dashboard] = [
      await read("deploy/prometheus/alerts.yml"),
      await read("deploy/grafana/dashboards/tidemark.json"),
    ];
    const asked = new Set(
      [...`${rules}${dashboard}`.matchAll(/\b(tidemark_[a-z_]+|process_[a-z_]+)\b(?!\/|\.)/g)].map(
        ([, name = ""]) => name.replace(/_bucket$/, ""),
      ),
    );
    assert.ok(asked.size > 15);
    assert.equal(
      [...asked].filter((name) => !known.has(name)),
      [],
    );
    const { panels } = JSON.parse(dashboard) as { panels: { id: number; targets: object[] }[] };
    assert.is(new Set(panels.map(({ id }) => id)).size, panels.length);
    for (const { targets } of panels) assert.ok(targets.length > 0);
  });
});
