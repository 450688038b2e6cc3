/** Tasks: their states, their limits, what a restart does to them, and the links to their files. */

import { once } from "node:events";
import { mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createDiskSpace } from "../../src/http/disk-space.js";
import { attachment } from "../../src/http/file-answer.js";
import { createLogger } from "../../src/observability/log.js";
import { createDownloadLinks, linkLifeMs } from "../../src/tasks/links.js";
import { openTasksRunner, tasksPerTenantMax, tasksRunningMax } from "../../src/tasks/runner.js";
import { TaskFailure, type TaskKind } from "../../src/tasks/task-kind.js";
import { listedTask, taskMsgCharactersMax } from "../../src/views/tasks.js";
import { openDb } from "../../store/metadata/db/db.js";
import { createTask, getTask, listTasks, taskEnded, updateTask } from "../../store/metadata/tasks.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import { hasKeys, type Rec, refused, stampPattern, worldSuite } from "../world.js";
import { download, ended } from "./transfer.js";

const actor = { tenant: 1, userIntID: 1, username: "admin" };

/** A runner over these kinds, with one tenant in its store. */
async function withRunner(
  kinds: Readonly<Record<string, TaskKind>>,
  use: (
    open: () => ReturnType<typeof openTasksRunner>,
    dir: string,
    db: Awaited<ReturnType<typeof openDb>>,
  ) => Promise<void>,
): Promise<void> {
  await withTempDir(async (dir) => {
    const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false });
    for (const id of [1, 2]) {
      await db.write([
        {
          sql: "insert into tenant (id, tenantID, tenantName, createAt) values (?, ?, ?, 0)",
          args: [id, `C${id}`, `t${id}`],
        },
      ]);
    }
    const tasks = join(dir, "tasks");
    await mkdir(tasks, { recursive: true });
    const log = createLogger("error", () => undefined, Date.now);
    await use(
      () =>
        openTasksRunner({
          db,
          node: 0,
          dir: tasks,
          space: createDiskSpace(tasks, async () => 2 ** 40),
          now: Date.now,
          retentionTime: Date.now,
          log,
          kinds,
        }),
      tasks,
      db,
    );
    await db.close();
  });
}

suite("task runner", (test) => {
  test("its kind hears that a task is over, also of one whose begin cannot be stored", async () => {
    let [runs, ends] = [0, 0];
    const kind: TaskKind = {
      resumes: false,
      run: async () => {
        runs++;
        return {};
      },
      ended: () => {
        ends++;
      },
    };
    await withRunner({ kind }, async (open, _, db) => {
      const tasks = await open();
      await tasks.start(actor, "kind", {});
      await until(() => ends === 1, { what: "the end of the first" });
      const refuse =
        "create trigger refuse before update on task when new.state = 'STARTED' begin select raise(abort, 'no room'); end";
      await db.write([{ sql: refuse, args: [] }]);
      const id = await tasks.start(actor, "kind", {});
      await until(() => ends === 2, { what: "the end of the second" });
      assert.equal([runs, (await getTask(db, 1, id)).state], [1, "FAILURE"]);
      await tasks.close();
    });
  });

  test("a restart takes up what resumes, fails what does not, and clears the files", async () => {
    const ran: string[] = [];
    const left: string[] = [];
    const kinds: Record<string, TaskKind> = {
      again: {
        resumes: true,
        run: async ({ task }) => {
          ran.push(task.id);
          return { msg: "done", file: "kept" };
        },
      },
      once: {
        resumes: false,
        run: async () => ({}),
        abandon: async (task) => {
          left.push(task.id);
        },
      },
    };
    await withRunner(kinds, async (open, dir, db) => {
      for (const [id, kind] of [
        ["a", "again"],
        ["b", "once"],
        ["c", "unknown"],
        ["d", "once"],
      ] as const) {
        await createTask(db, actor, Date.now(), { id, kind, input: {}, node: 0 });
        await updateTask(db, 0, id, { state: "PROGRESS", current: 40, msg: null });
      }
      await db.write([taskEnded(0, "d", { n: 1 })]);
      for (const file of ["upload-1", "kept"]) await writeFile(join(dir, file), "x");
      const runner = await open();
      await until(async () => (await getTask(db, 1, "a")).state === "SUCCESS", {
        what: "the task to run again",
      });
      assert.equal(ran, ["a"]);
      assert.equal(left, ["b"]);
      const failed = await getTask(db, 1, "b");
      assert.is(failed.state, "FAILURE");
      assert.match(String(failed.msg), /restarted/);
      assert.is((await getTask(db, 1, "c")).state, "FAILURE");
      // Its work and its success were one transaction.
      assert.equal((await getTask(db, 1, "d")).msg, { n: 1 });
      assert.equal(await readdir(dir), []);
      await runner.close();
    });
  });

  test("heavy ones run one at a time, others beside them; a tenant has its share", async () => {
    const open: (() => void)[] = [];
    let heavy = 0;
    let heavyMax = 0;
    let light = 0;
    const hold = () =>
      new Promise<void>((resolve) => {
        open.push(resolve);
      });
    const kinds: Record<string, TaskKind> = {
      heavy: {
        resumes: false,
        lane: "heavy",
        run: async () => {
          heavyMax = Math.max(heavyMax, ++heavy);
          await hold();
          heavy--;
          return {};
        },
      },
      light: {
        resumes: false,
        run: async () => {
          light++;
          await hold();
          return {};
        },
      },
      wrong: {
        resumes: false,
        run: async () => {
          throw new TaskFailure({ why: "so" });
        },
      },
    };
    await withRunner(kinds, async (start, _, db) => {
      const runner = await start();
      for (let i = 0; i < tasksPerTenantMax; i++)
        await runner.start(actor, i % 2 === 0 ? "heavy" : "light", {});
      const error = await runner.start(actor, "light", {}).catch((thrown: { errorCode: string }) => thrown);
      assert.is((error as { errorCode: string }).errorCode, "RESOURCE_LIMITED");
      const other = await runner.start({ ...actor, tenant: 2 }, "wrong", {});
      let ended = 0;
      while (ended < tasksPerTenantMax) {
        await until(() => open.length > 0, { what: "a task to run" });
        open.shift()?.();
        ended++;
      }
      await until(async () => (await getTask(db, 2, other)).state === "FAILURE", { what: "the last to end" });
      assert.equal((await getTask(db, 2, other)).msg, { why: "so" });
      assert.is(heavyMax, 1);
      assert.is(light, tasksPerTenantMax / 2);
      await runner.close();
    });
  });
});

suite("task runner, places apart", (test) => {
  test("what runs apart waits for no other work, other work not for it; a tenant has one at a time", async () => {
    const running: string[] = [];
    const ends = new Map<string, () => void>();
    const hold: TaskKind["run"] = async ({ task }) => {
      running.push(`${task.kind} ${task.tenant}`);
      await new Promise<void>((resolve) => ends.set(task.id, resolve));
      return {};
    };
    const kinds: Record<string, TaskKind> = {
      export: { resumes: false, run: hold },
      send: { resumes: false, apart: 2, run: hold },
    };
    const begun = (count: number) => until(() => running.length === count, { what: `${count} tasks` });
    await withRunner(kinds, async (start, _, db) => {
      for (const id of [3, 4]) {
        await db.write([
          {
            sql: "insert into tenant (id, tenantID, tenantName, createAt) values (?, ?, ?, 0)",
            args: [id, `C${id}`, `t${id}`],
          },
        ]);
      }
      const runner = await start();
      const begin = (tenant: number, kind: string) => runner.start({ ...actor, tenant }, kind, {});
      const first = await begin(1, "send");
      for (let i = 0; i < 3; i++) await begin(1, "send");
      // One tenant leaves a place to others.
      for (let i = 1; i < tasksRunningMax; i++) await begin(2, "export");
      await begin(4, "export");
      await begun(1 + tasksRunningMax);
      assert.is(running.filter((one) => one === "send 1").length, 1, "one of the tenant");
      await begin(3, "send");
      await begun(2 + tasksRunningMax);
      await begin(4, "send");
      await begin(3, "export");
      await delay(50);
      assert.is(running.length, 2 + tasksRunningMax, "both kinds of places are taken");
      ends.get(first)?.();
      await begun(3 + tasksRunningMax);
      assert.is(running.at(-1), "send 1", "whose turn is longest ago");
      const closing = runner.close();
      for (const end of ends.values()) end();
      await closing;
    });
  });
});

suite("task runner under strain", (test) => {
  test("none of many started at once exceeds the bound", async () => {
    const idle: TaskKind = {
      resumes: false,
      run: async ({ signal }) => {
        while (!signal.aborted) await once(signal, "abort");
        return {};
      },
    };
    await withRunner({ idle }, async (open) => {
      const runner = await open();
      const starts = Array.from({ length: tasksPerTenantMax + 10 }, () => runner.start(actor, "idle", {}));
      const settled = await Promise.allSettled(starts);
      assert.is(settled.filter(({ status }) => status === "fulfilled").length, tasksPerTenantMax);
      await runner.close();
    });
  });

  test("an end that cannot be saved is saved later", async () => {
    const quick: TaskKind = { resumes: false, run: async () => ({ msg: "done" }) };
    await withRunner({ quick }, async (open, _, db) => {
      const runner = await open();
      await db.write([
        {
          sql: `create trigger away before update on task when new.state = 'SUCCESS'
            begin select raise(abort, 'away'); end`,
        },
      ]);
      const id = await runner.start(actor, "quick", {});
      await until(async () => (await getTask(db, 1, id)).state === "STARTED", { what: "the task to start" });
      await db.write([{ sql: "drop trigger away" }]);
      await until(async () => (await getTask(db, 1, id)).state === "SUCCESS", {
        what: "the end to be saved",
      });
      assert.is((await getTask(db, 1, id)).msg, "done");
      await runner.close();
    });
  });

  test("files are the service's alone: they hold tokens", async () => {
    await withRunner({}, async (open, dir) => {
      const runner = await open();
      assert.is((await stat(dir)).mode & 0o777, 0o700);
      await runner.close();
    });
  });
});

suite("download links", (test) => {
  test("hold for fifteen minutes, for their file alone, and under their key alone", () => {
    let now = 1_000_000;
    const links = createDownloadLinks(Buffer.alloc(32, 1), () => now);
    const query = new URLSearchParams(links.link("task1", "devices 1.csv").replace(/^download\?/, ""));
    assert.equal([...query.keys()], ["filename", "fileType", "token"]);
    const token = String(query.get("token"));
    assert.ok(links.allows("devices 1.csv", token));
    now += linkLifeMs - 1;
    assert.ok(links.allows("devices 1.csv", token));
    assert.not(links.allows("../metadata.db", token));
    const [task, until, mac] = token.split(".");
    assert.not(links.allows("devices 1.csv", `${task}.${Number(until) + 1}.${mac}`));
    assert.not(links.allows("devices 1.csv", `other.${until}.${mac}`));
    for (const wrong of ["", ".", "..", "a.b.c", `${token}x`])
      assert.not(links.allows("devices 1.csv", wrong));
    assert.not(createDownloadLinks(Buffer.alloc(32, 2), () => now).allows("devices 1.csv", token));
    now += 1;
    assert.not(links.allows("devices 1.csv", token));
  });

  test("names of downloads", () => {
    assert.is(attachment("a.csv"), 'attachment; filename="a.csv"');
    assert.is(
      attachment('设"备.csv'),
      "attachment; filename=\"___.csv\"; filename*=UTF-8''%E8%AE%BE%22%E5%A4%87.csv",
    );
  });
});

suite("lists of tasks", (test) => {
  test("messages of any shape are shown up to a bound, whole escapes and all", () =>
    withRunner({}, async (_open, _dir, db) => {
      const emoji = "🌡".repeat(taskMsgCharactersMax);
      const messages: readonly (readonly [unknown, string | null])[] = [
        [null, null],
        ['it\'s "bad"; drop table task\n\u0001', 'it\'s "bad"; drop table task\n\u0001'],
        ["\\".repeat(5000), "\\".repeat(taskMsgCharactersMax)],
        ["x".repeat(100_000), "x".repeat(taskMsgCharactersMax)],
        [emoji, "🌡".repeat(taskMsgCharactersMax / 2)],
        [{ rows: 3, errors: [] }, '{"rows":3,"errors":[]}'],
        [[1, "a"], '[1,"a"]'],
      ];
      for (const [i, [msg]] of messages.entries()) {
        const id = String(i).padStart(32, "0");
        await createTask(db, actor, i, { id, kind: "k", input: {}, node: 0 });
        await updateTask(db, 50, id, { state: "SUCCESS", current: 100, msg });
      }
      // Control characters take six characters of JSON: the cut may lie within one of them.
      await createTask(db, actor, 99, { id: "f".repeat(32), kind: "k", input: {}, node: 0 });
      for (let length = 160; length < 172; length++) {
        const text = "a".repeat(length % 6) + "\u0001".repeat(length);
        await updateTask(db, 99, "f".repeat(32), { state: "PROGRESS", current: 1, msg: text });
        const [first] = (await listTasks(db, 1, { page: 1, limit: 1, filters: [] })).items;
        assert.ok(first !== undefined);
        const { msg } = listedTask(first, { stamp: String }) as { msg: string };
        assert.ok(text.startsWith(msg) && msg.length > 150, `${length}: ${msg.length}`);
      }
      const { items, count } = await listTasks(db, 1, { page: 1, limit: 100, filters: [] });
      assert.is(count, messages.length + 1);
      const shown = items
        .slice(1)
        .map((task) => (listedTask(task, { stamp: String }) as { msg: string | null }).msg);
      assert.equal(
        shown.reverse(),
        messages.map(([, wanted]) => wanted),
      );
    }));

  test("pages follow the time of creation, whatever the ids; filters go by the index", () =>
    withRunner({}, async (_open, _dir, db) => {
      for (let i = 0; i < 25; i++) {
        const id = `${(i * 7) % 25}`.padStart(32, "0");
        await createTask(db, actor, 1000 + Math.floor(i / 2), {
          id,
          kind: i % 5 === 0 ? "five" : "other",
          input: {},
          node: i % 2,
        });
        if (i % 3 === 0) await updateTask(db, 2000, id, { state: "FAILURE", current: 0, msg: "no" });
      }
      await createTask(db, { ...actor, tenant: 2 }, 9999, {
        id: "b".repeat(32),
        kind: "five",
        input: {},
        node: 0,
      });
      const rows = await db.all<{ id: string; createAt: number; kind: string; state: string }>(
        "select id, createAt, kind, state from task where tenant = 1",
      );
      rows.sort((a, b) => b.createAt - a.createAt || (a.id < b.id ? 1 : -1));
      const filters = [
        { field: "kind", like: false, value: "five" },
        { field: "state", like: false, value: "FAILURE" },
      ];
      for (const chosen of [[], filters.slice(0, 1), filters.slice(1), filters]) {
        const wanted = rows.filter((row) =>
          chosen.every(({ field, value }) => row[field as "kind" | "state"] === value),
        );
        for (const page of [1, 2, 3, 4]) {
          const found = await listTasks(db, 1, { page, limit: 7, filters: chosen });
          assert.is(found.count, wanted.length);
          assert.equal(
            found.items.map(({ id }) => id),
            wanted.slice((page - 1) * 7, page * 7).map(({ id }) => id),
          );
        }
      }
    }));
});

worldSuite("tasks", (test, world) => {
  test("status at both paths, with a fresh link each time; the file comes without credentials", async () => {
    const reply = await world.call("GET", "/api/v1/devices_export?format=csv");
    const status = await ended(world, reply);
    assert.equal(Object.keys(status), ["state", "current", "msg", "excelPath"]);
    assert.is(status.current, 100);
    assert.match(
      String(status.excelPath),
      /^download\?filename=devices-\w+\.csv&fileType=export_excel&token=/,
    );
    assert.is((await world.call("GET", `/api/v1${reply.record.statusUrl}`)).record.state, "SUCCESS");
    const response = await download(world, String(status.excelPath));
    assert.is(response.status, 200);
    assert.is(response.headers.get("content-type"), "text/csv; charset=utf-8");
    assert.match(
      String(response.headers.get("content-disposition")),
      /^attachment; filename="devices-\w+\.csv"$/,
    );
    const bytes = (await response.arrayBuffer()).byteLength;
    assert.is(response.headers.get("content-length"), String(bytes));
    const path = String(status.excelPath);
    for (const wrong of [
      `${path}x`,
      path.replace("devices-", "device-"),
      "download",
      "download?filename=a&token=b",
    ]) {
      refused(await world.call("GET", `/api/v1/${wrong}`, undefined, { key: null }), "AUTH_FAILED", "token");
    }
  });

  test("an unknown task is not found, whatever its id looks like", async () => {
    for (const id of ["1", "0".repeat(32), "%2e%2e", "x'; drop table task; --", "设备"]) {
      refused(await world.call("GET", `/task_status/${encodeURIComponent(id)}`), "DATA_NOT_FOUND");
    }
    refused(await world.call("GET", "/task_status/1", undefined, { key: null }), "AUTH_FAILED");
    refused(await world.call("POST", "/api/v1/download"), "METHOD_NOT_ALLOWED");
  });

  test("a list of the tenant's own, newest first, by what it shows", async () => {
    await ended(world, await world.call("GET", "/api/v1/devices_export?format=csv"));
    await ended(world, await world.call("GET", "/api/v1/devices_export?format=xlsx"));
    const { page, status } = await world.call("GET", "/api/v1/tasks?_limit=2");
    assert.is(status, 200);
    assert.is(page.meta.limit, 2);
    assert.ok(page.meta.count >= 2);
    const [newest] = page.items;
    hasKeys(newest, [
      "taskID",
      "statusUrl",
      "kind",
      "state",
      "current",
      "msg",
      "createUser",
      "createAt",
      "endAt",
    ]);
    const { taskID, statusUrl, kind, state, current, createAt, endAt } = newest as Rec;
    assert.is(statusUrl, `/task_status/${taskID}`);
    assert.equal([kind, state, current], ["devices_export", "SUCCESS", 100]);
    assert.match(String(createAt), stampPattern);
    assert.match(String(endAt), stampPattern);
    const count = async (query: string, key?: string) => {
      const reply = await world.call("GET", `/api/v1/tasks?${query}`, undefined, key ? { key } : {});
      assert.is(reply.status, 200, reply.text);
      return reply.page.meta.count;
    };
    assert.is(await count("kind=devices_export"), page.meta.count);
    assert.is(await count("kind=devices_import"), 0);
    assert.is(await count("state=FAILURE"), 0);
    assert.is(await count("kind=devices_export&state=SUCCESS"), page.meta.count);
    assert.is(await count(`kind=${encodeURIComponent("x' or '1'='1 设备 🌡 \0")}`), 0);
    assert.is(await count("current=100"), page.meta.count);
    assert.is(await count("current=99"), 0);
    assert.is(await count(`taskID=${taskID}`), 1);
    refused(await world.call("GET", "/api/v1/tasks?msg=1"), "PARAMETER_INVALID", "msg");
    refused(await world.call("GET", "/api/v1/tasks?_limit=1001"), "PARAMETER_INVALID", "_limit");
    assert.is(await count("", await world.otherTenant()), 0);
    const viewer = await world.keyOf("viewer");
    const seen = await world.call("GET", "/api/v1/tasks", undefined, { key: viewer });
    assert.is(seen.page.meta.count, page.meta.count);
    assert.not.match(seen.text, /download\?/);
  });
});
