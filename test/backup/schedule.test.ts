/** Backups that begin by themselves: when the schedule comes true, and never two at once. */

import { zone } from "../../query/zone.js";
import { createBackupFolder } from "../../src/backup/backup-folder.js";
import { createBackupJobs } from "../../src/backup/backup-jobs.js";
import { openBackups } from "../../src/backup/backups.js";
import { createLogger } from "../../src/observability/log.js";
import type { BackupFigures } from "../../src/observability/metrics.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import { assert, suite, until, withTempDir } from "../suite.js";

interface Started {
  readonly actor: Actor;
  readonly kind: string;
}

/** A clock that is so many milliseconds before a whole minute, and runs. */
function nearlyAMinute(ms: number): () => number {
  const begun = performance.now();
  return () => Date.UTC(2026, 10, 21, 3, 0) - ms + (performance.now() - begun);
}

async function withSchedule(
  schedule: string | null,
  start: () => Promise<string>,
  use: (found: {
    readonly started: readonly Started[];
    readonly backups: ReturnType<typeof openBackups>;
    readonly logged: readonly string[];
    failures(): number;
    setBack(ms: number): void;
  }) => Promise<void>,
): Promise<void> {
  await withTempDir(async (dir) => {
    const started: Started[] = [];
    const logged: string[] = [];
    let figures: BackupFigures | null = null;
    let behindMs = 0;
    const clock = nearlyAMinute(300);
    const now = (): number => clock() - behindMs;
    const log = createLogger("info", (line) => logged.push(line), now);
    const folder = createBackupFolder(dir);
    const status = {
      note: () => undefined,
      backups: (told: BackupFigures) => {
        figures = told;
      },
    };
    const source = { dataDir: dir, nodeNumber: 0, influx: null, libsql: null };
    const jobs = createBackupJobs({
      ...{ folder, isMounted: false, source, keep: null },
      ...{ hold: async () => [0], status, log, now },
    });
    const tasks = {
      start: (actor: Actor, kind: string) => {
        started.push({ actor, kind });
        return start();
      },
    };
    const settings = { dir, keep: null, schedule };
    const backups = openBackups({ settings, folder, jobs, tasks, zone: zone("Asia/Shanghai"), log, now });
    try {
      const setBack = (ms: number): void => {
        behindMs = ms;
      };
      await use({ started, backups, logged, failures: () => figures?.failed ?? 0, setBack });
    } finally {
      backups.close();
    }
  });
}

suite("the schedule of backups", (test) => {
  test("one begins when the expression comes true in the zone, as the service itself; the next is the next day", () =>
    withSchedule(
      "0 11 * * *",
      async () => "a",
      async ({ started, backups }) => {
        assert.is(backups.nextAt, Date.UTC(2026, 10, 21, 3, 0));
        await until(() => started.length > 0, { what: "its begin" });
        assert.equal(started, [{ actor: { tenant: 1, userIntID: null, username: null }, kind: "backup" }]);
        assert.is(backups.nextAt, Date.UTC(2026, 10, 22, 3, 0));
      },
    ));

  test("without a schedule, or once it is closed, none begins", async () => {
    await withSchedule(
      null,
      async () => "a",
      async ({ backups }) => assert.is(backups.nextAt, null),
    );
    await withSchedule(
      "* * * * *",
      async () => "a",
      async ({ started, backups }) => {
        backups.close();
        await new Promise((resolve) => setTimeout(resolve, 600));
        assert.equal(started, []);
      },
    );
  });

  test("a clock that is set back by years does not put the next one off by years", () =>
    withSchedule(
      "* * * * *",
      async () => "a",
      async ({ started, backups, setBack }) => {
        setBack(5 * 365 * 86_400_000 + 20_000);
        await until(() => (backups.nextAt ?? 0) < Date.UTC(2022, 0, 1), { what: "the next one to be near" });
        assert.equal(started, []);
      },
    ));

  test("one that is due while another goes on is left out; one that cannot begin is a failure in words", async () => {
    await withSchedule(
      "* * * * *",
      () => new Promise(() => undefined),
      async ({ started, backups, logged, failures }) => {
        void backups.begin({ tenant: 1, userIntID: 1, username: "admin" });
        await until(() => logged.some((line) => line.includes("not begun")), { what: "its line" });
        assert.equal([started.length, failures()], [1, 0]);
      },
    );
    await withSchedule(
      "* * * * *",
      () => Promise.reject(new Error("the metadata are away")),
      async ({ backups, logged, failures }) => {
        await until(() => failures() === 1, { what: "the failure" });
        assert.match(logged.join(), "the metadata are away");
        assert.is(backups.jobs.failure?.reason, "the metadata are away");
        assert.is(backups.jobs.running, null);
      },
    );
  });
});
