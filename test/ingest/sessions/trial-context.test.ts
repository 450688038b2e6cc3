/** The trial of a record that goes to several devices meets what they hold, as the start that it ended did. */
import { join } from "node:path";
import { noIsolation } from "../../../ingest/followers/crash-isolation.js";
import { createMeter } from "../../../ingest/meter.js";
import { openSessions } from "../../../ingest/sessions/open.js";
import { createSessionRecords } from "../../../ingest/sessions/records.js";
import { createWorkBudget } from "../../../ingest/uplinks/work-budget.js";
import { readSessionContext } from "../../../src/service/trial/session-context.js";
import type { Journal } from "../../../store/journal/journal.js";
import { encodedRecord } from "../../../store/journal/record-codecs.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { openSessionStore } from "../../../store/mqtt-sessions/session-store.js";
import { keep, openTestJournal, readAll, textOf } from "../../store/journal/support.js";
import { assert, suite, withTempDir } from "../../suite.js";

const guard = {
  narrow: noIsolation,
  onFailed: ({ error }: { readonly error: Error }) => {
    throw error;
  },
};
const nothing = { sessions: [], messages: [], retained: [], wills: [] };

suite("sessions in the trial of a record", (test) => {
  test("a message to several devices is tried on all of them, with what came to them before", () =>
    withTempDir(async (dir) => {
      const journal = await openTestJournal(join(dir, "journal"));
      const store = await openSessionStore(join(dir, "sessions.db"), assert.unreachable);
      const saved = await openSessions(store, journal, createMeter(), guard);
      const records = createSessionRecords(
        journal,
        saved.registry,
        Date.now,
        () => undefined,
        createWorkBudget(),
      );
      /** Commands of one turn with one payload are one record. */
      const send = (devices: readonly number[], text: string) => {
        const payload = Buffer.from(text);
        const message = { topic: "down", payload, qos: 1 as const, properties: null, receipt: null };
        return Promise.all(
          devices.map(
            (device) =>
              new Promise<void>((resolve) =>
                records.send(
                  { id: device, device: { tenant: 1 } } as never,
                  message,
                  () => undefined,
                  resolve,
                ),
              ),
          ),
        );
      };
      const connect = (device: number) =>
        keep(journal, {
          device,
          kind: recordKinds.connect,
          session: device,
          clientID: `client ${device}`,
        });
      const subscribe = (device: number) =>
        keep(journal, {
          device,
          kind: recordKinds.subscribe,
          session: device,
          filter: "down",
          qos: 1,
        });
      for (const device of [1, 2, 3, 4]) {
        await connect(device);
        await subscribe(device);
      }
      await send([1, 2], "to one and two");
      await send([1, 4], "to others");
      await send([3], "to three");
      await keep(journal, { device: 4, payload: Buffer.from("of four") });
      await send([2, 3], "the one that is tried");
      const all = await readAll(journal);
      const tried = all.at(-1);
      assert.ok(tried?.kind === recordKinds.downlinks && tried.device === 0);

      const context = await readSessionContext(store, journal, tried);
      const sent = [recordKinds.downlink, recordKinds.downlinks] as readonly number[];
      assert.equal(context.before.filter(({ kind }) => sent.includes(kind)).map(textOf), [
        "to one and two",
        "to three",
      ]);
      const opening = [recordKinds.connect, recordKinds.subscribe] as readonly number[];
      assert.equal(
        context.before.filter(({ kind }) => opening.includes(kind)).map(({ device }) => device),
        [2, 2, 3, 3],
      );

      // Replayed as the trial does, it reaches both sessions.
      const again = await replayed(journal, [...context.before, tried]);
      const queued = (device: number) =>
        [...again.registry.all()]
          .filter((deviceSessions) => deviceSessions.device === device)
          .flatMap(({ sessions }) => [...sessions.values()])
          .flatMap(({ outgoing }) => [...outgoing.values()].map(textOf));
      assert.equal(queued(2), ["to one and two", "the one that is tried"]);
      assert.equal(queued(3), ["to three", "the one that is tried"]);

      await journal.close();
      await store.close();
    }));

  test("all rows of its devices of the saved state; none for a record that names no device", async () => {
    const rows = [1, 2, 3].map((device) => ({ device, tenant: 1 }));
    const all = { sessions: rows, messages: rows, retained: rows, wills: rows };
    const store = { load: async () => all as never, savedID: async () => 0 };
    const journal = {
      read: async () => ({ lastID: 0, next: async () => null, close: async () => undefined }),
    };
    const contextOf = (fields: object) => readSessionContext(store, journal as never, fields as never);
    const to = Buffer.from(
      JSON.stringify({
        to: [
          [1, null],
          [3, 9],
        ],
      }),
    );
    const { saved } = await contextOf({ kind: recordKinds.downlinks, device: 0, id: 5, details: to });
    for (const kind of ["sessions", "messages", "retained", "wills"] as const) {
      assert.equal(
        saved[kind].map(({ device }) => device),
        [1, 3],
      );
    }
    const own = await contextOf({ kind: recordKinds.uplink, device: 2, id: 5, details: null });
    assert.equal(
      own.saved.sessions.map(({ device }) => device),
      [2],
    );
    const broken = await contextOf({
      kind: recordKinds.downlinks,
      device: 0,
      id: 5,
      details: Buffer.from("{"),
    });
    assert.equal(broken.saved, nothing);
  });
});

/** The state after these records alone, as the worker of a trial makes it. */
function replayed(journal: Journal, records: readonly { readonly id: number }[]) {
  const left = records.map((record) => encodedRecord(record as never));
  const alone = {
    ...journal,
    committedID: records.at(-1)?.id ?? 0,
    read: async () => ({
      lastID: records.at(-1)?.id ?? 0,
      close: async () => undefined,
      next: async () => {
        const buffer = left.shift();
        return buffer === undefined ? null : { buffer, offsets: [0], position: 0 };
      },
    }),
  } as unknown as Journal;
  const store = { load: async () => nothing, savedID: async () => 0 } as never;
  return openSessions(store, alone, createMeter(), guard);
}
