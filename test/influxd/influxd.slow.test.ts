import { spawn } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { assert, influxSuite, rejects, suite, until, withTempDir } from "../suite.js";
import type { InfluxServer } from "./influxd.js";

const influxdUrl = new URL("./influxd.js", import.meta.url).href;

suite("finding influxd", (test) => {
  test("takes the version 2 on PATH", () =>
    withTempDir(async (dir) => {
      const path = join(dir, "influxd");
      await fakeProgram(path, "echo 'InfluxDB v2.7.6 (git: 1) build_date: x'");
      assert.equal(await find(dir, dir), { path });
    }));

  test("passes over a version 1 and takes the cached build", () =>
    withTempDir(async (dir) => {
      await fakeProgram(join(dir, "influxd"), "echo 'InfluxDB v1.6.7 (git: unknown)'");
      await mkdir(join(dir, "tidemark"));
      const path = join(dir, "tidemark", "influxd-v2.9.1");
      await fakeProgram(path, "exit 1");
      assert.equal(await find(dir, dir), { path });
    }));

  test("names what the build lacks", () =>
    withTempDir(async (dir) => {
      await fakeProgram(join(dir, "gcc"), "exit 0");
      const missing = "no influxd 2, and to build it there is no Go, no cargo, no pkg-config";
      assert.equal(await find(dir, dir), { missing });
    }));

  test("says how a build failed, and leaves neither lock nor draft", () =>
    withTempDir(async (dir) => {
      for (const name of ["cargo", "gcc", "pkg-config"]) await fakeProgram(join(dir, name), "exit 0");
      await fakeProgram(join(dir, "go"), "echo no route to the proxy >&2; exit 1");
      const missing = "the build of influxd v2.9.1 failed: no route to the proxy";
      assert.equal(await find(dir, dir), { missing });
      assert.equal(await readdir(join(dir, "tidemark")), []);
    }));

  test("several processes build once, past the lock of a dead one", () =>
    withTempDir(async (dir) => {
      for (const name of ["cargo", "gcc", "pkg-config"]) await fakeProgram(join(dir, name), "exit 0");
      // Notes each call; "go build" makes the file that follows -o.
      const script = `echo "$1" >> ${dir}/calls
        until [ $# = 0 ] || [ "$1" = -o ]; do shift; done
        [ $# = 0 ] || { echo '#!/bin/sh' > "$2"; /bin/chmod +x "$2"; }`;
      await fakeProgram(join(dir, "go"), script);
      await mkdir(join(dir, "tidemark"));
      await writeFile(join(dir, "tidemark", "influxd-v2.9.1.lock"), "999999999");
      const path = join(dir, "tidemark", "influxd-v2.9.1");
      assert.equal(await Promise.all([find(dir, dir), find(dir, dir), find(dir, dir)]), [
        { path },
        { path },
        { path },
      ]);
      assert.is(await readFile(join(dir, "calls"), "utf8"), "install\nbuild\n");
      assert.equal(await readdir(join(dir, "tidemark")), ["influxd-v2.9.1"]);
    }));
});

influxSuite("InfluxDB server for tests", (test, influx) => {
  const outside = process.env.INFLUX_URL ? "the server at INFLUX_URL is not ours to stop" : "";
  const owned = (name: string, body: () => Promise<void>) =>
    outside ? test.skip(name, outside) : test(name, body);

  test("writes and answers Flux on real calendar windows", async () => {
    const server = await influx();
    await write(server, "weather,device=d1 temp=21.5 1700000000000000000");
    const flux = `import "timezone"
      option location = timezone.location(name: "Europe/Berlin")
      from(bucket: "${server.bucket}") |> range(start: 2023-11-14T00:00:00Z, stop: 2023-11-16T00:00:00Z)
        |> filter(fn: (r) => r._measurement == "weather") |> aggregateWindow(every: 1d, fn: mean, createEmpty: false)
        |> keep(columns: ["_time", "_value"])`;
    const csv = await query(server, flux);
    assert.match(csv, /,(2023-11-14T23:00:00Z,21\.5|21\.5,2023-11-14T23:00:00Z)\r/); // midnight in Berlin
  });

  owned("keeps data, port and token through stop and kill", async () => {
    const server = await influx();
    const first = server.pid;
    await write(server, "outage,device=d1 n=1 1700000000000000000");
    await server.stop();
    assert.is(server.pid, undefined);
    await rejects(() => fetch(`${server.url}/health`));
    await server.start();
    assert.is.not(server.pid, first);
    await write(server, "outage,device=d1 n=2 1700000001000000000");
    await server.kill();
    await server.start();
    const csv = await query(
      server,
      `from(bucket: "${server.bucket}") |> range(start: 0) |> filter(fn: (r) => r._measurement == "outage") |> count()`,
    );
    assert.match(csv, /,2,n,outage,/);
    await rejects(() => server.start(), /it is running/);
  });

  owned("dies with the process that started it, even by SIGKILL, and its folder goes", () =>
    withTempDir(async (dir) => {
      const source = `import { startInflux } from ${JSON.stringify(influxdUrl)};
        const server = await startInflux(); console.log(server.pid); setInterval(() => {}, 1000);`;
      const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, TMPDIR: dir },
      });
      const pid = Number(await new Promise((resolve) => child.stdout.once("data", resolve)));
      assert.ok(pid > 0);
      child.kill("SIGKILL");
      await until(() => !isAlive(pid), { what: "the end of influxd" });
      await until(async () => (await readdir(dir)).length === 0, { what: "the removal of its folder" });
    }),
  );
});

async function fakeProgram(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** findInfluxd in a process that sees nothing but `path` and keeps its cache in `cache`. */
async function find(path: string, cache: string): Promise<unknown> {
  const source = `import { findInfluxd } from ${JSON.stringify(influxdUrl)};
    console.log(JSON.stringify(await findInfluxd()));`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: path, XDG_CACHE_HOME: cache },
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  await new Promise((resolve) => child.once("close", resolve));
  return JSON.parse(output);
}

async function write(server: InfluxServer, lines: string): Promise<void> {
  const target = `${server.url}/api/v2/write?org=${server.org}&bucket=${server.bucket}&precision=ns`;
  const headers = { authorization: `Token ${server.token}` };
  const answer = await fetch(target, { method: "POST", headers, body: lines });
  assert.is(answer.status, 204);
}

async function query(server: InfluxServer, flux: string): Promise<string> {
  const answer = await fetch(`${server.url}/api/v2/query?org=${server.org}`, {
    method: "POST",
    headers: { authorization: `Token ${server.token}`, "content-type": "application/vnd.flux" },
    body: flux,
  });
  assert.is(answer.status, 200);
  return answer.text();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
