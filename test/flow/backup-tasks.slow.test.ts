/** Backups that the service is asked for over the API: restored and counted, and cut short by signals and kills. */
import { execFileSync } from "node:child_process";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connectAsync } from "mqtt";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { toolAnswer } from "./run-tool.js";
import { provision, type RunningService, startService } from "./support.js";

const path = "/api/v1/backups";

interface Task {
  readonly state: string;
  readonly msg: unknown;
}

const statusOf = async (service: RunningService, url: string): Promise<Task> =>
  (await service.call("GET", `/api/v1${url}`)).body as unknown as Task;

const ended = (service: RunningService, url: string): Promise<Task> =>
  until(
    async () => {
      const task = await statusOf(service, url);
      return /SUCCESS|FAILURE/.test(task.state) ? task : undefined;
    },
    { what: "the task to end", timeoutMs: 60_000 },
  );

const unfinishedIn = async (dir: string): Promise<string[]> =>
  (await readdir(dir)).filter((name) => name.endsWith(".unfinished"));

/** Processes that make a backup. */
const childrenAt = (): string =>
  execFileSync("ps", ["-eo", "ppid,args"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes("backup.child.js"))
    .join("\n");

/** A service whose backup lasts for some seconds, in its midst. */
async function inItsMidst(dir: string) {
  const [data, backups] = [join(dir, "data"), join(dir, "backups")];
  await mkdir(data);
  await writeFile(join(data, "ballast"), Buffer.alloc(150_000_000, 1));
  const service = await startService(data, { BACKUP_DIR: backups });
  const { body } = await service.call("POST", path);
  await until(async () => (await unfinishedIn(backups)).length > 0, { what: "the backup in its midst" });
  return { data, backups, service, url: String(body.statusUrl) };
}

suite("backups over the API, in processes of their own", (test) => {
  test("one that was made under load is restored elsewhere, with its points and its metadata", () =>
    withTempDir(async (dir) => {
      const [data, backups, elsewhere] = [join(dir, "data"), join(dir, "backups"), join(dir, "restored")];
      await mkdir(data);
      const service = await startService(data, { BACKUP_DIR: backups, BACKUP_KEEP: "1" });
      const [device] = (await provision(service, 1)) as [Rec];
      const client = await connectAsync(service.mqtt, {
        username: String(device.deviceUsername),
        password: String(device.token),
      });
      const publish = (n: number) => client.publishAsync("up", JSON.stringify({ n }), { qos: 1 });
      for (let n = 0; n < 500; n++) await publish(n);
      const { body, status } = await service.call("POST", path);
      assert.is(status, 202);
      let sent = 500;
      let isOver = false;
      const ending = ended(service, String(body.statusUrl)).finally(() => {
        isOver = true;
      });
      while (!isOver) await publish(sent++);
      const { state, msg } = await ending;
      assert.is(state, "SUCCESS", JSON.stringify(msg));
      await client.endAsync();
      await service.settled();
      const items = (await service.call("GET", path)).body.items as readonly Rec[];
      const { folder, journalID } = items[0] as Rec;
      await service.stop();
      await rm(data, { recursive: true });

      const restored = await toolAnswer(elsewhere, {}, "restore", String(folder));
      assert.is(restored.journalID, journalID);
      const again = await startService(elsewhere);
      await again.settled();
      const found = (await again.call("GET", "/api/v1/devices")).body.items as readonly Rec[];
      assert.equal(
        found.map(({ deviceID, token }) => [deviceID, token]),
        [[device.deviceID, device.token]],
      );
      const query = `deviceIntID=${device.id}&startTime=2001-01-01T00:00:00Z&limit=100000`;
      const { text } = await again.call("GET", `/api/v1/original_data?${query}`);
      const values =
        (JSON.parse(text) as { originalData: { value: number[] } }[])[0]?.originalData.value ?? [];
      const sorted = [...values].sort((a, b) => a - b);
      assert.ok(sorted.length >= 500, `${sorted.length} points`);
      assert.equal(
        sorted,
        sorted.map((_, n) => n),
        "a point is missing or there twice",
      );
      await again.stop();
    }));

  test("SIGTERM in its midst ends it at once: no half backup stays, and the task says why", () =>
    withTempDir(async (dir) => {
      const { data, backups, service, url } = await inItsMidst(dir);
      const startedAt = performance.now();
      await service.stop();
      assert.ok(performance.now() - startedAt < 10_000, "the service waits for its backup");
      assert.equal(await readdir(backups), []);
      assert.is(childrenAt(), "");
      const again = await startService(data, { BACKUP_DIR: backups });
      const { state, msg } = await statusOf(again, url);
      assert.equal([state, msg], ["FAILURE", "the service was restarted; nothing was stored"]);
      const { body } = await again.call("POST", path);
      assert.is((await ended(again, String(body.statusUrl))).state, "SUCCESS");
      await again.stop();
    }));

  test("a service that is killed takes the process with it; its next start clears what is left", () =>
    withTempDir(async (dir) => {
      const { data, backups, service, url } = await inItsMidst(dir);
      await service.kill();
      await until(() => childrenAt() === "", { what: "the process to end" });
      assert.is((await unfinishedIn(backups)).length, 1);
      const again = await startService(data, { BACKUP_DIR: backups });
      assert.equal(await readdir(backups), []);
      assert.is((await statusOf(again, url)).state, "FAILURE");
      await again.stop();
    }));

  test("a wrong folder ends the start with code 2 and a line that says why", () =>
    withTempDir(async (dir) => {
      const data = join(dir, "data");
      const failed = await startService(data, { BACKUP_DIR: join(data, "backups") }).then(
        () => "it has started",
        (error: Error) => error.message,
      );
      assert.match(failed, "the service ended with 2");
      assert.match(failed, "BACKUP_DIR:");
    }));
});
