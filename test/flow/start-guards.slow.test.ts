/** Starts that must fail, or must still succeed: read-only, full and damaged folders, a removed lock. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statfsSync } from "node:fs";
import { chmod, cp, mkdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import { lockDataDir } from "../../src/host/lock.js";
import { program, programEnvironment } from "../program.js";
import { mountSmallDisk } from "../small-disk.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import { listenersOff } from "../world.js";
import { createPublisher } from "./publisher.js";
import { payloadsOf, provision, startService, valuesOf } from "./support.js";

const mebi = 2 ** 20;

/** Starts `serve` and waits for its end. */
async function startToEnd(
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
  onLine: (line: string, signal: (name: NodeJS.Signals) => void) => void = () => undefined,
): Promise<{ code: number | null; errors: string; lines: string }> {
  const ports = { HTTP_PORT: "0", MQTT_PORT: "0", ...listenersOff };
  const env = { DATA_DIR: dataDir, ...ports, ...programEnvironment, ...environment };
  const child = spawn(process.execPath, [program, "serve"], { env, stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  let lines = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  child.stdout.on("data", (chunk) => {
    lines += chunk;
    onLine(String(chunk), (name) => void child.kill(name));
  });
  const [code] = (await once(child, "exit")) as [number | null];
  return { code, errors, lines };
}

/** A folder in which one device has sent `count` messages, stopped in order. */
async function withHistory(dir: string, count = 20) {
  const service = await startService(dir, { FREE_BYTES_MIN: "1000000" });
  const [device] = await provision(service, 1);
  assert.ok(device);
  const publisher = createPublisher({
    device,
    qos: 1,
    clientID: "flow",
    mostInFlight: 20,
    pauseMs: 1,
    payload: (n) => JSON.stringify({ n }),
  });
  const running = publisher.run(service.mqtt);
  await until(() => publisher.acknowledged.size >= count, { what: "messages" });
  await publisher.stop();
  await running;
  await service.settled();
  return { service, device, sent: publisher.sent };
}

/** Every second page from the third on. */
async function zeroPages(path: string): Promise<void> {
  const bytes = await readFile(path);
  for (let at = 8192; at < bytes.length; at += 8192) bytes.fill(0, at, at + 4096);
  await writeFile(path, bytes);
}

/** A sound database with nothing in it: what is left where the log beside the file is lost. */
async function emptied(path: string): Promise<void> {
  await rm(path);
  const client = createClient({ url: `file:${path}`, concurrency: 1 });
  await client.execute("create table other (n integer)");
  client.close();
}

suite("guards of a start", (test) => {
  test("a stop while the service starts is orderly, and so is one at its first line", () =>
    withTempDir(async (dir) => {
      for (const [n, when] of ["first start", "listening"].entries()) {
        let sent = false;
        const { code, lines } = await startToEnd(join(dir, String(n)), {}, (line, signal) => {
          if (sent || !line.includes(when)) return;
          sent = true;
          signal("SIGTERM");
        });
        assert.is(code, 0, lines);
        assert.match(lines, /"msg":"stopping"/);
        assert.match(lines, /"msg":"stopped"/);
        assert.not.ok(existsSync(join(dir, String(n), "service.json")));
      }
    }));

  test("a stop while a start waits for brokers that answer nothing is orderly", () =>
    withTempDir(async (dir) => {
      let stop = (): void => undefined;
      // What is asked first is asked of a broker.
      const broker = createServer((socket) => {
        socket.on("error", () => undefined);
        stop();
      });
      await once(broker.listen(0, "127.0.0.1"), "listening");
      const { port } = broker.address() as AddressInfo;
      const settings = {
        JOURNAL_URL: `kafka://127.0.0.1:${port}/topic`,
        LIBSQL_URL: `file:${join(dir, "metadata.db")}`,
        MASTER_KEY: "7".repeat(64),
        INFLUX_URL: "http://127.0.0.1:9",
        INFLUX_TOKEN: "token",
        INFLUX_ORG: "org",
        INFLUX_BUCKET: "bucket",
      };
      let asked = 0;
      const { code, lines, errors } = await startToEnd(join(dir, "data"), settings, (_, signal) => {
        stop = () => {
          if (asked++ === 0) signal("SIGTERM");
        };
      });
      broker.close();
      assert.is(asked, 1, "no broker is asked again");
      assert.equal([code, errors], [0, ""], lines);
      assert.match(lines, /"msg":"stopping".*\n.*"msg":"stopped"/);
    }));

  test("a process that loses lock.db ends with an error, and a second start writes only then", () =>
    withTempDir(async (dir) => {
      const { service } = await withHistory(dir, 1);
      const second = await startToEnd(dir);
      assert.is(second.code, 1);
      assert.match(second.errors, /another process holds .*lock.db/);
      await rm(join(dir, "lock.db"));
      const endedAt = service.ended.then((code) => ({ code, at: performance.now() }));
      const third = await startService(dir);
      const writtenAt = performance.now();
      const { code, at } = await endedAt;
      assert.is(code, 1);
      assert.ok(at < writtenAt, "the second has waited");
      const last = service.logged.at(-1) as { msg: string; error: { error: string } };
      assert.match(last.error.error, /lock.db was removed or replaced/);
      assert.is(service.logged.filter(({ level }) => level === "error").length, 1);
      await third.stop();
    }));

  test("a folder that is released can be held again at once, by the same process too", () =>
    withTempDir(async (dir) => {
      for (let round = 0; round < 20; round++) {
        const lock = await lockDataDir(dir, { onLost: assert.unreachable });
        await lock.release();
      }
    }));

  test("a start with a new lock waits for a process that may hold the one before", () =>
    withTempDir(async (dir) => {
      const { service } = await withHistory(dir, 1);
      await service.stop();
      await rm(join(dir, "lock.db"));
      const startedAt = performance.now();
      const next = await startService(dir);
      assert.ok(performance.now() - startedAt >= 2500);
      await next.stop();
    }));

  test("metadata that is damaged, empty or gone ends the start by name, and nothing is made in its place", () =>
    withTempDir(async (dir) => {
      const made = join(dir, "made");
      const { service } = await withHistory(made, 1);
      await service.stop();
      const client = createClient({ url: `file:${join(made, "metadata.db")}`, concurrency: 1 });
      await client.execute("pragma wal_checkpoint(truncate)");
      client.close();
      const harms: [RegExp, (path: string) => Promise<unknown>][] = [
        [/not a database/, (path) => writeFile(path, "x".repeat(9000))],
        [/missing or empty/, (path) => truncate(path, 0)],
        [/missing or empty/, (path) => rm(path)],
        [/cut off/, (path) => truncate(path, 20_000)],
        [/malformed|page|btree/i, (path) => zeroPages(path)],
        [/holds no tenant/, (path) => emptied(path)],
      ];
      for (const [n, [why, harm]] of harms.entries()) {
        const copy = join(dir, `copy-${n}`);
        // The client above closes its file when it is collected, and takes these away.
        const filter = (from: string): boolean => !/metadata\.db-(wal|shm)$/.test(from);
        await cp(made, copy, { recursive: true, filter });
        await harm(join(copy, "metadata.db"));
        const { code, errors, lines } = await startToEnd(copy);
        assert.is(code, 2, errors);
        assert.match(errors, why);
        assert.match(errors, /metadata\.db.*restore it from a backup/);
        assert.not.match(lines, /first start/);
      }
      // The messages of any shard count.
      const harmed = join(dir, "copy-1");
      await mkdir(join(harmed, "shards", "2"), { recursive: true });
      await rename(join(harmed, "journal"), join(harmed, "shards", "2", "journal"));
      const { code, errors } = await startToEnd(harmed);
      assert.is(code, 2, errors);
      assert.match(errors, /missing or empty, but .*2.journal holds messages/);
    }));

  test("a master key that is lost, empty, damaged or another ends the start, and is never replaced", () =>
    withTempDir(async (dir) => {
      const { service } = await withHistory(dir, 1);
      await service.stop();
      const path = join(dir, "master.key");
      const key = await readFile(path, "utf8");
      const other = key.startsWith("0") ? `1${key.slice(1)}` : `0${key.slice(1)}`;
      const harms: [RegExp, string | null][] = [
        [/master\.key is missing or empty/, null],
        [/master\.key is missing or empty/, ""],
        [/master\.key is damaged/, key.slice(0, 40)],
        [/master\.key is not the key that sealed/, other],
      ];
      for (const [why, text] of harms) {
        await rm(path, { force: true });
        if (text !== null) await writeFile(path, text);
        const { code, errors } = await startToEnd(dir);
        assert.is(code, 2, errors);
        assert.match(errors, why);
        assert.is(await readFile(path, "utf8").catch(() => null), text);
      }
      await writeFile(path, key);
      await (await startService(dir)).stop();
    }));

  test("a folder that was kept under another NODE_NUMBER ends the start, and names that number", () =>
    withTempDir(async (dir) => {
      const { service, device, sent } = await withHistory(dir);
      await service.stop();
      const other = await startToEnd(dir, { NODE_NUMBER: "7" });
      assert.is(other.code, 2);
      assert.match(
        other.errors,
        /^tidemark: NODE_NUMBER: is 7, and .*journal was kept under 0: set that one\n$/,
      );
      const again = await startService(dir);
      assert.is((await payloadsOf(again, device)).length, sent);
      await again.stop();
    }));

  test("what a killed first start has left half written does not stop the next", () =>
    withTempDir(async (dir) => {
      await mkdir(dir, { recursive: true });
      for (const name of ["master.key", "first-start.json", "server-certificate.json", "service.json"]) {
        await writeFile(join(dir, name), "");
      }
      const service = await startService(dir, { MQTTS_PORT: "0" });
      assert.is((await service.call("GET", "/api/v1/devices")).status, 200);
      await service.stop();
    }));

  test("damaged events.db and sessions.db are made again from the journal, loudly", () =>
    withTempDir(async (dir) => {
      const { service, device, sent } = await withHistory(dir, 30);
      await service.stop();
      for (const name of ["events.db", "sessions.db"]) {
        for (const suffix of ["-wal", "-shm"]) await rm(join(dir, name + suffix), { force: true });
        await writeFile(join(dir, name), "no database at all");
      }
      const next = await startService(dir);
      assert.is((await payloadsOf(next, device)).length, sent);
      const { status, body } = await next.call("GET", "/readyz");
      assert.is(status, 200);
      assert.is(body.status, "degraded");
      assert.equal(Object.keys(body.degraded as object).sort(), ["events damage", "sessions damage"]);
      assert.is(await next.metric("tidemark_damage_total", 'part="events"'), 1);
      const told = next.logged.filter(({ msg }) => String(msg).startsWith("damage:"));
      assert.is(told.length, 2);
      for (const { msg } of told)
        assert.match(String(msg), /put aside as .*\.damaged-\d{8}T\d{6}Z and made again/);
      await next.stop();
      const last = await startService(dir);
      assert.is((await last.call("GET", "/readyz")).body.status, "ok");
      await last.stop();
    }));

  test("points of a month file that is gone come back from the events, without a hand", () =>
    withTempDir(async (dir) => {
      const { service, device, sent } = await withHistory(dir, 50);
      await service.stop();
      const month = new Date().toISOString().slice(0, 7);
      await rm(join(dir, "series", `points-${month}.db`));
      const next = await startService(dir);
      const numbers = Array.from({ length: sent }, (_, n) => n);
      await until(async () => (await valuesOf(next, device)).length === sent, { what: "the points" });
      assert.equal(await valuesOf(next, device), numbers);
      assert.is((await next.call("GET", "/readyz")).body.status, "degraded");
      assert.is(await next.metric("tidemark_damage_total", 'part="series"'), 1);
      await next.stop();
    }));

  const disk = mountSmallDisk(96 * mebi);
  if ("reason" in disk) test.skip("a full and a read-only folder", disk.reason);
  else {
    test.after(() => disk.close());
    test(
      "a wholly full disk: it starts, answers queries, takes nothing, and goes on by itself",
      async () => {
        const dir = join(disk.path, "full");
        const { service, device, sent } = await withHistory(dir, 50);
        await until(() => existsSync(join(dir, "reserve")), { what: "reserved space" });
        await service.stop();
        const ballast = join(disk.path, "ballast");
        await writeFile(ballast, Buffer.alloc(200 * mebi)).catch(() => undefined);
        assert.is(statfsSync(disk.path).bavail, 0);
        const next = await startService(dir, { FREE_BYTES_MIN: String(20 * mebi) });
        assert.is((await payloadsOf(next, device)).length, sent);
        assert.is((await valuesOf(next, device)).length, sent);
        await until(async () => (await next.call("GET", "/readyz")).status === 503, { what: "503" });
        assert.match((await next.call("GET", "/readyz")).body.errors.uplinks ?? "", /disk full/);
        await rm(ballast);
        await until(async () => (await next.call("GET", "/readyz")).status === 200, { what: "to go on" });
        await until(() => existsSync(join(dir, "reserve")), { what: "reserved space again" });
        await next.stop();
        await rm(dir, { recursive: true });
      },
      { timeoutMs: 90_000 },
    );

    test("a read-only folder: it ends with code 2 and says so", async () => {
      const dir = join(disk.path, "read-only");
      const { service } = await withHistory(dir, 1);
      await service.stop();
      const remount = disk.readOnly();
      try {
        for (const folder of [dir, join(disk.path, "new")]) {
          const { code, errors } = await startToEnd(folder);
          assert.is(code, 2, errors);
          assert.match(errors, /DATA_DIR: cannot write in .*: it is on a read-only file system/);
          assert.not.match(errors, /another process/);
        }
      } finally {
        remount();
      }
      const file = join(disk.path, "a-file");
      await writeFile(file, "");
      await chmod(file, 0o600);
      const { code, errors } = await startToEnd(file);
      assert.is(code, 2, errors);
      assert.match(errors, /DATA_DIR: cannot write in .*a-file: it is not a folder/);
    });
  }
});
