import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { createClient } from "@libsql/client";
import { beginDatabaseCopy } from "../../../store/files/copy-database.js";
import { unthrottled } from "../../../store/files/copy-file.js";
import { pack, unpack } from "../../../store/mqtt-sessions/packed-statement.js";
import type { MessageRow, RowChanges } from "../../../store/mqtt-sessions/session-rows.js";
import { openSessionStore } from "../../../store/mqtt-sessions/session-store.js";
import {
  bytesPerStatement,
  listStatements,
  rowsPerStatement,
} from "../../../store/mqtt-sessions/statements.js";
import { assert, rejects, suite, withTempDir } from "../../suite.js";
import { nothing } from "./support.js";

const message = (messageID: number, payload: Uint8Array): MessageRow => ({
  device: 7,
  clientID: "a",
  messageID,
  topic: "x",
  payload,
  qos: 1,
  retain: 0,
  properties: null,
  identifiers: "[]",
  at: messageID,
  sent: 0,
  received: 0,
  receipt: null,
});

/** Yields so many messages; `onTaken` is called before each. */
function* messages(count: number, payload: Uint8Array, onTaken: (n: number) => void = () => undefined) {
  for (let n = 1; n <= count; n++) {
    onTaken(n);
    yield message(n, payload);
  }
}

const openStore = (dir: string) => openSessionStore(join(dir, "sessions.db"), assert.unreachable);

suite("session store", (test) => {
  test("a file is put in its place once nobody reads it: a reader would remove the log of the new one", () =>
    withTempDir(async (dir) => {
      const [store, other] = [
        await openStore(dir),
        await openSessionStore(join(dir, "b.db"), assert.unreachable),
      ];
      const payload = Buffer.from("x");
      await store.save({ ...nothing, messages: messages(2, payload) }, 2);
      await other.save({ ...nothing, messages: messages(5, payload) }, 5);
      await other.copyTo(join(dir, "snapshot.db"));
      const reading = await beginDatabaseCopy(join(dir, "sessions.db"), join(dir, "backup.db"), unthrottled);
      let isReplaced = false;
      const replacing = store.replaceWith(join(dir, "snapshot.db")).then(() => {
        isReplaced = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 200));
      assert.is(isReplaced, false);
      await reading.finish();
      await replacing;
      assert.is(await store.savedID(), 5);
      assert.is((await store.load()).messages.length, 5);
      await store.close();
      await other.close();
    }));

  test("a statement holds so many rows and bytes, and no row is made before it is asked for", () => {
    const columns = Object.keys(message(1, Buffer.of())).length;
    const rowsIn = (changes: Partial<RowChanges>) =>
      [...listStatements({ ...nothing, ...changes })].map(({ args }) => args.length / columns);
    const small = Buffer.alloc(10);
    assert.equal(rowsIn({ messages: messages(450, small) }), [rowsPerStatement, rowsPerStatement, 50]);
    const large = rowsIn({ messages: messages(30, Buffer.alloc(250_000)) });
    assert.is(Math.max(...large), Math.floor(bytesPerStatement / 250_100));
    assert.is(
      large.reduce((sum, rows) => sum + rows),
      30,
    );
    assert.equal(rowsIn({ messages: messages(3, Buffer.alloc(3 * bytesPerStatement)) }), [1, 1, 1]);
    let taken = 0;
    const onTaken = () => {
      taken++;
    };
    const lazy = listStatements({ ...nothing, messages: messages(5000, small, onTaken) });
    lazy.next();
    assert.is(taken, rowsPerStatement + 1);
  });

  test("what is gone goes first: another may have taken its place", () => {
    const changes = { ...nothing, messages: messages(1, Buffer.of()), endedSessions: [[7, "a"]] as const };
    const verbs = [...listStatements(changes)].map(({ sql }) => sql.split(" ").slice(0, 3).join(" "));
    assert.equal(verbs, ["delete from session", "delete from message", "insert into message"]);
  });

  test("blobs cross in one buffer of their own length, not that of the buffers that they are views of", () => {
    const around = Buffer.alloc(10_000, "p");
    const args = [1, around.subarray(5, 8), "t", null, Buffer.of(), around.subarray(0, 2)];
    const packed = pack({ sql: "s", args }, new ArrayBuffer(0));
    assert.is(packed.room.byteLength, 5);
    const plain = (all: readonly unknown[]) =>
      all.map((one) => (one instanceof Uint8Array ? Buffer.from(one).toString() : one));
    assert.equal(plain(unpack(structuredClone(packed)).args), plain(args));
    assert.is(pack({ sql: "s", args: args.slice(1, 3) }, packed.room).room, packed.room, "used again");
  });

  test("200 MB are saved a piece a turn of the loop, and nobody sees them before all are there", () =>
    withTempDir(async (dir) => {
      const store = await openStore(dir);
      const payload = Buffer.alloc(250_000, "p");
      let turn = 0;
      let running = true;
      const count = () => {
        turn++;
        if (running) setImmediate(count);
      };
      setImmediate(count);
      const takenIn = new Map<number, number>();
      const seen: unknown[] = [];
      const reader = createClient({ url: `file:${join(dir, "sessions.db")}`, concurrency: 1 });
      const onTaken = (n: number) => {
        takenIn.set(turn, (takenIn.get(turn) ?? 0) + 1);
        if (n % 200 === 0) {
          const looks = reader.execute(
            "select (select count(*) from message) + (select count(*) from saved)",
          );
          void looks.then(({ rows }) => seen.push(rows[0]?.[0]));
        }
      };
      await store.save({ ...nothing, messages: messages(800, payload, onTaken) }, 5);
      running = false;
      assert.equal(seen, [0, 0, 0, 0]);
      const most = Math.max(...takenIn.values());
      // One statement's, and the row that was too many for it.
      assert.ok(most <= Math.floor(bytesPerStatement / payload.length) + 1, `${most} in one turn`);
      reader.close();
      assert.is(await store.savedID(), 5);
      assert.is((await store.load()).messages.length, 800);
      await store.close();
    }));

  test("a save that fails midway leaves what was there, and the next one goes", () =>
    withTempDir(async (dir) => {
      const store = await openStore(dir);
      await store.save({ ...nothing, messages: messages(1, Buffer.from("before")) }, 1);
      const failAt = (n: number) => {
        if (n === 900) throw new Error("no row");
      };
      const failing = { ...nothing, messages: messages(1000, Buffer.from("after"), failAt) };
      await rejects(() => store.save(failing, 2), /no row/);
      assert.is(await store.savedID(), 1);
      const { messages: left } = await store.load();
      assert.equal(
        left.map(({ payload }) => Buffer.from(payload).toString()),
        ["before"],
      );
      await store.save({ ...nothing, messages: messages(1000, Buffer.from("after")) }, 3);
      assert.is((await store.load()).messages.length, 1000);
      await store.close();
    }));

  test("its thread dies under a save: that one fails, and the next has a new thread", () =>
    withTempDir(async (dir) => {
      const started: Worker[] = [];
      const onWorker = (worker: Worker) => void started.push(worker);
      process.on("worker", onWorker);
      const store = await openStore(dir);
      await store.save({ ...nothing, messages: messages(1, Buffer.from("before")) }, 1);
      const endAt = (n: number) => {
        // The thread has answered what it was asked before: it is in no call.
        if (n === 401) void started[0]?.terminate();
      };
      const dying = { ...nothing, messages: messages(1000, Buffer.from("after"), endAt) };
      await rejects(() => store.save(dying, 2), /thread has ended/);
      assert.is(await store.savedID(), 1);
      await store.save({ ...nothing, messages: messages(3, Buffer.from("again")) }, 3);
      process.off("worker", onWorker);
      assert.is(started.length, 2);
      const { messages: left } = await store.load();
      assert.equal(
        left.map(({ payload }) => Buffer.from(payload).toString()),
        ["again", "again", "again"],
      );
      await store.close();
    }));

  test("all rows are read, in their order, a piece at a time", () =>
    withTempDir(async (dir) => {
      const store = await openStore(dir);
      const retained = Array.from({ length: 1200 }, (_, i) => ({
        tenant: 1,
        device: 1 + Math.floor(i / 700),
        deviceID: "d",
        topic: `t/${i}`,
        payload: Buffer.of(),
        qos: 1,
        properties: null,
        at: i,
      }));
      const some = Buffer.alloc(100);
      await store.save({ ...nothing, retained, messages: messages(1500, some) }, 1);
      const rows = await store.load();
      assert.equal(
        rows.messages.map(({ messageID }) => messageID),
        [...messages(1500, some)].map(({ messageID }) => messageID),
      );
      assert.equal(new Set(rows.retained.map(({ topic }) => topic)).size, 1200);
      await store.close();
    }));

  test("closing waits for the save under way", () =>
    withTempDir(async (dir) => {
      const store = await openStore(dir);
      const saving = store.save({ ...nothing, messages: messages(2000, Buffer.alloc(1000)) }, 9);
      await store.close();
      await saving;
      const again = await openStore(dir);
      assert.is(await again.savedID(), 9);
      assert.is((await again.load()).messages.length, 2000);
      await again.close();
    }));

  test("a file that is damaged during a save is reported as such, and begun anew", () =>
    withTempDir(async (dir) => {
      const path = join(dir, "sessions.db");
      const told: string[] = [];
      const store = await openSessionStore(path, (fault) => told.push(fault));
      await store.save({ ...nothing, messages: messages(1, Buffer.from("before")) }, 1);
      await store.load();
      await writeFile(path, "no database at all");
      const error = await rejects(() => store.save(nothing, 2));
      assert.is((error as Error & { code?: string }).code, "CORRUPT");
      await store.remake("it is none");
      assert.equal([told, await store.savedID()], [["it is none"], 0]);
      await store.save({ ...nothing, messages: messages(2, Buffer.from("after")) }, 3);
      assert.is((await store.load()).messages.length, 2);
      await store.close();
    }));

  test("files of before receipts are read and written on", () =>
    withTempDir(async (dir) => {
      const client = createClient({ url: `file:${join(dir, "sessions.db")}`, concurrency: 1 });
      await client.execute(
        `create table message (
          n integer primary key, device integer not null, clientID text not null, messageID integer not null,
          topic text not null, payload blob not null, qos integer not null, retain integer not null,
          properties text, identifiers text not null, at real not null, sent integer not null,
          received integer not null, unique (device, clientID, messageID)
        ) strict`,
      );
      await client.execute(
        "insert into message values (1, 7, 'a', 1, 'x', x'70', 1, 0, null, '[]', 1, 0, 0)",
      );
      await client.execute("create table saved (journalID integer not null) strict");
      await client.execute("insert into saved values (4)");
      client.close();
      const store = await openStore(dir);
      assert.is(await store.savedID(), 4);
      assert.is((await store.load()).messages[0]?.receipt, null);
      await store.save({ ...nothing, messages: [{ ...message(2, Buffer.from("p")), receipt: 3 }] }, 5);
      assert.equal(
        (await store.load()).messages.map(({ receipt }) => receipt),
        [null, 3],
      );
      await store.close();
    }));
});
