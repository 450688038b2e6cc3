/** The image, the unit and the dashboards: what they name is there, and their own tools accept them. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { createClient } from "@libsql/client";
import { createPublisher } from "../flow/publisher.js";
import { type AnyService, openService, provision, valuesOf } from "../flow/support.js";
import { programMissing } from "../programs.js";
import { repositoryRoot } from "../repository.js";
import { assert, suite, until, withTempDir } from "../suite.js";
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

  test("the image's health check distinguishes an answer from none", async () => {
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

/** Answers of `/metrics` as Prometheus would have them every minute, the first as often as the second. */
function scraped(first: string | null, second: string, times: number): object[] {
  const samplesOf = (text: string): Map<string, string> =>
    new Map(
      text
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"))
        .map((line) => [line.slice(0, line.lastIndexOf(" ")), line.slice(line.lastIndexOf(" ") + 1)]),
    );
  const [before, after] = [samplesOf(first ?? ""), samplesOf(second)];
  const labelled = (name: string): string =>
    `${name.replace(/\}$/, ",").replace(/^[^{]+$/, "$&{")}job="tidemark",instance="a:1"}`;
  const repeated = (value: string | undefined): string =>
    value === undefined ? `_x${times}` : `${value}+0x${times - 1}`;
  return [...new Set([...before.keys(), ...after.keys()])].map((name) => ({
    series: labelled(name),
    values: `${repeated(before.get(name))} ${repeated(after.get(name))}`,
  }));
}

suite("the rules over real answers of /metrics", (test) => {
  const missing = programMissing("promtool");
  const testWith = (name: string, body: () => Promise<void>): void =>
    missing === null ? test(name, body) : test.skip(name, missing);

  testWith("the first damage raises the alert, found while the service runs or by its start", () =>
    withTempDir(async (dir) => {
      const data = join(dir, "data");
      const metricsOf = async (service: AnyService) => (await service.call("GET", "/metrics")).text;
      const first = await openService(data);
      const [device] = await provision(first, 1);
      if (device === undefined) throw new Error("no device");
      const payload = (n: number): string => `{"n":${n}}`;
      const publisher = createPublisher({ device, qos: 1, clientID: "edge", payload, mostInFlight: 5 });
      const running = publisher.run(first.mqtt);
      await until(() => publisher.acknowledged.size >= 5, { what: "acknowledgements" });
      await publisher.stop();
      await running;
      await first.settled();
      await first.stop();

      const second = await openService(data);
      // What a start writes again must not replace the damaged chunk.
      await second.settled();
      const before = await metricsOf(second);
      const name = readdirSync(join(data, "series")).find((one) => /^points-.*\.db$/.test(one)) ?? "";
      const client = createClient({ url: `file:${join(data, "series", name)}` });
      const damaged = await client.execute("update chunk set data = zeroblob(length(data))");
      assert.ok(damaged.rowsAffected > 0);
      client.close();
      const isFound = async () => {
        await valuesOf(second, device).catch(() => undefined);
        return (await second.metric("tidemark_damage_total", '"series"')) > 0;
      };
      await until(isFound, { what: "the damage" });
      const after = await metricsOf(second);
      await second.stop();

      const minutes = 30;
      const alert = {
        exp_labels: { severity: "critical", job: "tidemark", instance: "a:1", part: "series" },
        exp_annotations: { summary: "a:1 found damage in series; its log says where" },
      };
      const at = (minute: number, ...alerts: object[]) => ({
        eval_time: `${minute}m`,
        alertname: "TidemarkFoundDamage",
        exp_alerts: alerts,
      });
      const tests = {
        rule_files: [join(root, "deploy/prometheus/alerts.yml")],
        evaluation_interval: "1m",
        tests: [
          {
            interval: "1m",
            input_series: scraped(before, after, minutes),
            alert_rule_test: [at(minutes - 1), at(minutes + 2, alert), at(2 * minutes - 1, alert)],
          },
          {
            interval: "1m",
            input_series: scraped(null, after, minutes),
            alert_rule_test: [at(minutes + 2, alert)],
          },
          {
            interval: "1m",
            input_series: scraped(null, before, 4 * minutes),
            alert_rule_test: [at(4 * minutes + 2), at(8 * minutes - 1)],
          },
        ],
      };
      const file = join(dir, "tests.yml");
      // What is JSON is YAML.
      await writeFile(file, JSON.stringify(tests));
      const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
      assert.is(status, 0, stdout + stderr);
    }),
  );
});

worldSuite("dashboards and alert rules", (test, world) => {
  test("every counter whose labels are a closed list has all of its samples from the start", async () => {
    const { text } = await world.call("GET", "/metrics");
    const counters = [...text.matchAll(/^# TYPE (\S+) counter$/gm)].map(([, name = ""]) => name);
    const counted = (name: string): number => [...text.matchAll(new RegExp(`^${name}[ {]`, "gm"))].length;
    assert.equal(
      counters.filter((name) => counted(name) === 0),
      // Without BACKUP_DIR there is nothing to count.
      ["tidemark_backups_total"],
    );
    assert.is(counted("tidemark_damage_total"), 5);
    assert.is(counted("tidemark_clock_jumps_total"), 2);
    assert.is(counted("tidemark_notifications_total"), 12);
    assert.ok(counted("tidemark_refused_total") > 20);
    assert.ok(counted("tidemark_connections_ended_total") > 20);
  });

  const missing = programMissing("promtool");
  const testWith = (name: string, body: () => Promise<void>): void =>
    missing === null ? test(name, body) : test.skip(name, missing);

  testWith("promtool finds nothing to object to in an answer of /metrics", async () => {
    const { text } = await world.call("GET", "/metrics");
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
      encoding: "utf8",
      input: text,
    });
    assert.equal([status, stdout, stderr], [0, "", ""]);
  });

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
