import { existsSync } from "node:fs";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import fc from "fast-check";
import type { DeviceEntry } from "../../../ingest/directory/entries.js";
import { noIsolation } from "../../../ingest/followers/crash-isolation.js";
import { createMeter } from "../../../ingest/meter.js";
import { sessionExpiryMax, sessionsPerDeviceMax } from "../../../ingest/sessions/bounds.js";
import { createChanges } from "../../../ingest/sessions/changes.js";
import { forgetDeletedSessions } from "../../../ingest/sessions/deleted.js";
import { openSessions, type ReplayGuard, type SavedSessions } from "../../../ingest/sessions/open.js";
import { createSessionRecords, type SessionRecords } from "../../../ingest/sessions/records.js";
import type { SessionState } from "../../../ingest/sessions/state.js";
import { createAccept, hashClientID, type Origin } from "../../../ingest/uplinks/accept.js";
import { createWorkBudget } from "../../../ingest/uplinks/work-budget.js";
import type { Journal } from "../../../store/journal/journal.js";
import type { Will } from "../../../store/journal/message.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { nextTurn } from "../../../store/lib/scheduling.js";
import { openSessionStore } from "../../../store/mqtt-sessions/session-store.js";
import { journalInput, openTestJournal } from "../../store/journal/support.js";
import { assert, suite, withTempDir } from "../../suite.js";
import { heldIn, subscription } from "./support.js";

/** One process: journal, state, and what writes them. */
interface Run {
  readonly journal: Journal;
  readonly saved: SavedSessions;
  readonly records: SessionRecords;
  readonly links: Map<string, { origin: Origin; state: SessionState }>;
  kill(): Promise<void>;
}

const device = { id: 7, device: { tenant: 1, deviceID: "d7" } } as DeviceEntry;

const notExpected: ReplayGuard = {
  narrow: noIsolation,
  onFailed: ({ error }) => {
    throw error;
  },
};

async function open(dir: string, onDamage: () => void = assert.unreachable): Promise<Run> {
  await mkdir(dir, { recursive: true });
  const journal = await openTestJournal(join(dir, "journal"));
  const store = await openSessionStore(join(dir, "sessions.db"), onDamage);
  const saved = await openSessions(store, journal, createMeter(), notExpected);
  const records = createSessionRecords(
    journal,
    saved.registry,
    Date.now,
    () => undefined,
    createWorkBudget(),
  );
  const kill = async (): Promise<void> => {
    await journal.close();
    await store.close();
  };
  return { journal, saved, records, links: new Map(), kill };
}

/** What the file in `dir`/one holds, without the journal after it, whose id it stands for. */
async function openAlone(dir: string, journalID: number): Promise<Run> {
  await mkdir(join(dir, "alone"));
  // The log is copied first: rows that are moved to the file during the copy are then in both.
  for (const name of ["sessions.db-wal", "sessions.db"]) {
    const from = join(dir, "one", name);
    if (existsSync(from)) await cp(from, join(dir, "alone", name));
  }
  const journal = await openTestJournal(join(dir, "alone", "journal"));
  await journal.beginAbove(journalID);
  await journal.close();
  return open(join(dir, "alone"));
}

type Step =
  | { do: "connect"; client: string; clean: boolean; expiry: number; will: boolean }
  | { do: "disconnect"; client: string; orderly: boolean; expiry: number | null }
  | { do: "subscribe"; client: string; filter: string; qos: 0 | 1 | 2; identifier: number | null }
  | { do: "unsubscribe"; client: string; filter: string }
  | {
      do: "publish";
      client: string;
      topic: string;
      qos: 0 | 1 | 2;
      retain: boolean;
      text: string;
      type: boolean;
    }
  | { do: "platform"; client: string; wanted: readonly { topic: string; qos: number }[] }
  | { do: "release" | "received" | "delivered" | "end"; client: string }
  | { do: "command" | "wills" | "save" }
  // A check has found the file damaged.
  | { do: "remake" };

const client = fc.constantFrom("a", "b");
const filter = fc.constantFrom("x", "x/#", "+/y", "#", "inbox");
const topic = fc.constantFrom("x", "x/y", "inbox", "z");
const qos = fc.constantFrom<0 | 1 | 2>(0, 1, 2);
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("connect" as const),
    client,
    clean: fc.boolean(),
    expiry: fc.constantFrom(0, 3600, 0xffff_ffff),
    will: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("disconnect" as const),
    client,
    orderly: fc.boolean(),
    expiry: fc.constantFrom(null, 60),
  }),
  fc.record({
    do: fc.constant("subscribe" as const),
    client,
    filter,
    qos,
    identifier: fc.option(fc.integer({ min: 1, max: 9 })),
  }),
  fc.record({ do: fc.constant("unsubscribe" as const), client, filter }),
  fc.record({
    do: fc.constant("publish" as const),
    client,
    topic,
    qos,
    retain: fc.boolean(),
    text: fc.constantFrom("", "m", "n"),
    type: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("platform" as const),
    client,
    wanted: fc.uniqueArray(fc.record({ topic: filter, qos }), { selector: ({ topic }) => topic }),
  }),
  fc.record({ do: fc.constantFrom("release" as const, "received" as const, "delivered" as const), client }),
  fc.record({ do: fc.constant("end" as const), client }),
  fc.record({ do: fc.constantFrom("command" as const, "wills" as const, "save" as const) }),
  { weight: 1, arbitrary: fc.constant({ do: "remake" as const }) },
);

/** Does what the endpoint would, and waits for the disk. */
async function take(run: Run, step: Step, nth: number): Promise<void> {
  const { journal, saved, records, links } = run;
  const { registry } = saved;
  const link = "client" in step ? links.get(step.client) : undefined;
  if (step.do === "save") return saved.save();
  if (step.do === "remake") return saved.remake("a fault");
  if (step.do === "wills")
    for (const due of registry.dueWills(Date.now() * 1000)) records.publishWill(due, false, () => undefined);
  if (step.do === "command") {
    records.send(
      device,
      { topic: "inbox", payload: Buffer.from(`c${nth}`), qos: 1, properties: null, receipt: nth },
      () => undefined,
      () => undefined,
    );
  }
  if (step.do === "connect" && link === undefined) connect(run, step);
  if (step.do === "end") {
    if (link !== undefined)
      records.disconnect(link.origin, 30, { reason: "thrown_out", orderly: false, sessionExpiry: null });
    links.delete(step.client);
    records.endSession({ tenant: 1, device: device.id, clientID: step.client }, () => undefined);
    return settled(journal);
  }
  if (link === undefined) return settled(journal);
  const { origin, state } = link;
  if (step.do === "disconnect") {
    records.disconnect(origin, 30, { reason: "lost", orderly: step.orderly, sessionExpiry: step.expiry });
    links.delete(step.client);
  }
  if (step.do === "subscribe") {
    const { qos, identifier } = step;
    records.subscribe(origin, state, [[step.filter, subscription({ qos, identifier })]], () => undefined);
  }
  if (step.do === "unsubscribe") records.unsubscribe(origin, state, [step.filter], () => undefined);
  if (step.do === "platform") records.subscribeByPlatform(origin, state, step.wanted);
  if (step.do === "publish") publish(run, origin, state, step, nth);
  const [first] = state.outgoing.keys();
  const [unreleased] = state.unreleased;
  if (step.do === "release" && unreleased !== undefined) {
    records.release(origin, state, unreleased, () => undefined);
  }
  if (step.do === "received" && first !== undefined) records.received(origin, state, first, () => undefined);
  if (step.do === "delivered" && first !== undefined) records.delivered(origin, state, first, true);
  return settled(journal);
}

/** Messages to devices are appended at the end of the turn that they were sent in. */
async function settled(journal: Journal): Promise<void> {
  await Promise.resolve();
  await journal.waitFor(journal.appendedID - 1);
}

function connect({ records, links }: Run, step: Extract<Step, { do: "connect" }>): void {
  const { client: clientID, clean: cleanStart, expiry: sessionExpiry } = step;
  const origin = { device, session: hashClientID(clientID), ip: "127.0.0.1" };
  const will: Will = {
    topic: "x",
    payload: Buffer.from("will"),
    qos: 1,
    retain: true,
    delay: 5,
    properties: { contentType: "text/plain" },
  };
  const request = { clientID, cleanStart, sessionExpiry, keepAlive: 30, will: step.will ? will : null };
  const connection = records.connect(origin, request, (state) => {
    links.set(clientID, { origin: { ...origin, connection }, state });
  });
}

function publish(
  { journal, saved }: Run,
  origin: Origin,
  state: SessionState,
  { topic, qos, retain, text, type }: Extract<Step, { do: "publish" }>,
  nth: number,
): void {
  const accept = createAccept(journal, createMeter(), () => false);
  const payload = Buffer.from(text);
  const userProperties = [["k", "v"]] as const;
  const properties = type ? { userProperties, correlationData: Buffer.from([255, 0]) } : null;
  accept.uplink(
    origin,
    { topic, payload, qos, retain, dup: false, messageID: nth, properties },
    false,
    () => {
      if (qos === 2) saved.registry.took(state, nth);
      const at = Date.now() * 1000;
      const { device, session } = origin;
      saved.registry.publish({ device: device.id, session, topic, payload, qos, retain, properties, at });
    },
  );
}

/** All of the state that has to come back. Times differ by what lies between a record and its commit. */
function shape({ registry }: SavedSessions) {
  const plain = (value: unknown): unknown =>
    JSON.parse(
      JSON.stringify(value, (_key, one) => {
        if (one instanceof Map) return [...one];
        if (one instanceof Set) return [...one];
        if (one?.type === "Buffer" || one instanceof Uint8Array)
          return Buffer.from(one.data ?? one).toString("hex");
        return one;
      }),
    );
  return [...registry.all()].map(
    ({ device, deviceID, tenant, sessions, retained, retainedBytes, wills }) => ({
      device,
      deviceID,
      tenant,
      retainedBytes,
      retained: plain(
        [...retained]
          .map(([topic, { payload, qos, properties }]) => ({ topic, payload, qos, properties }))
          .sort((a, b) => (a.topic < b.topic ? -1 : 1)),
      ),
      wills: plain(wills.map(({ dueAt: _, ...due }) => due).sort((a, b) => a.connection - b.connection)),
      sessions: [...sessions.values()]
        .sort((a, b) => (a.clientID < b.clientID ? -1 : 1))
        .map(({ link: _, endedAt, ...state }) => {
          const { clientID, session, connection, expiry, will, ip, keepAlive } = state;
          const kept = plain({
            clientID,
            session,
            connection,
            expiry,
            will,
            ip,
            keepAlive,
            ended: endedAt > 0,
          });
          if (expiry === 0) return kept;
          const outgoing = [...state.outgoing.values()].map(
            ({ at: _, sent: __, settled: ___, ...message }) => message,
          );
          const subscriptions = [...state.subscriptions].sort(([a], [b]) => (a < b ? -1 : 1));
          return plain({ kept, ...state, outgoing, subscriptions, unreleased: [...state.unreleased].sort() });
        }),
    }),
  );
}

/** In place of the file one that is none, or the same with texts that were not written. */
async function harmFile(dir: string, harm: string): Promise<void> {
  const path = join(dir, "sessions.db");
  if (harm === "no JSON") {
    const client = createClient({ url: `file:${path}`, concurrency: 1 });
    await client.execute("update session set subscriptions = '[{'");
    client.close();
    return;
  }
  for (const suffix of ["", "-wal", "-shm"]) await rm(path + suffix, { force: true });
  await writeFile(path, "no database at all");
}

suite("saved sessions", (test) => {
  test(
    "come back as they were, whatever happened and wherever it was saved",
    async () => {
      const harms = fc.constantFrom("none", "no database", "no JSON");
      const property = fc.asyncProperty(fc.array(steps, { maxLength: 40 }), harms, async (story, harm) => {
        await withTempDir(async (dir) => {
          const run = await open(dir, () => undefined);
          for (const [nth, step] of story.entries()) await take(run, step, nth + 1);
          const before = shape(run.saved);
          const isExact = ({ registry }: SavedSessions) =>
            assert.is(registry.held.of(1), heldIn(registry, 1));
          isExact(run.saved);
          await run.kill();
          let damages = 0;
          if (harm !== "none") await harmFile(dir, harm);
          const again = await open(dir, () => {
            damages++;
          });
          assert.equal(shape(again.saved), before, "the journal has it all");
          isExact(again.saved);
          // Where no session was saved there is no text to spoil.
          if (harm !== "no JSON") assert.is(damages, harm === "none" ? 0 : 1);
          await again.saved.save();
          await again.kill();
          const third = await open(dir);
          assert.equal(shape(third.saved), before, "saved whole");
          isExact(third.saved);
          await third.kill();
        });
      });
      await fc.assert(property, { numRuns: 100, endOnFailure: true });
    },
    { timeoutMs: 600_000 },
  );

  test(
    "what is saved is the state of one moment, whatever changes while it is written",
    async () => {
      const changing = steps.filter((step) => step.do !== "save" && step.do !== "remake");
      const stories = fc.array(changing, { maxLength: 20 });
      const property = fc.asyncProperty(stories, stories, fc.boolean(), async (story, meanwhile, again) => {
        await withTempDir(async (dir) => {
          const run = await open(join(dir, "one"));
          const begin: Step[] = [
            { do: "connect", client: "b", clean: true, expiry: 3600, will: true },
            { do: "subscribe", client: "b", filter: "#", qos: 2, identifier: null },
          ];
          // So large that they are written in several pieces.
          const text = "m".repeat(300_000);
          const large: Step = {
            do: "publish",
            client: "b",
            topic: "x/y",
            qos: 1,
            retain: true,
            text,
            type: true,
          };
          const all = [...begin, ...Array<Step>(6).fill(large), ...story];
          let nth = 0;
          for (const step of all) await take(run, step, ++nth);
          if (again) {
            await run.saved.save();
            await take(run, { do: "received", client: "b" }, ++nth);
          }
          let then: unknown;
          let journalID = 0;
          const saving = run.saved.save(async () => {
            // In the turn in which the rows were taken.
            then = shape(run.saved);
            journalID = run.journal.committedID;
          });
          for (const step of meanwhile) await take(run, step, ++nth);
          await saving;
          if (then !== undefined) assert.is(run.saved.savedID, journalID);
          const now = shape(run.saved);
          await run.kill();
          // Where nothing had changed nothing was written.
          if (then !== undefined) {
            const file = await openAlone(dir, journalID);
            assert.equal(shape(file.saved), then, "without the journal after it");
            await file.kill();
          }
          const next = await open(join(dir, "one"));
          assert.equal(shape(next.saved), now, "with it");
          await next.kill();
        });
      });
      await fc.assert(property, { numRuns: 20, endOnFailure: true });
    },
    { timeoutMs: 120_000 },
  );

  test("retained messages keep their ids when the record that asked for them is read again", () =>
    withTempDir(async (dir) => {
      const run = await open(dir);
      const publish = { do: "publish", client: "b", qos: 1, retain: true, text: "m", type: false } as const;
      await take(run, { do: "connect", client: "b", clean: true, expiry: 3600, will: false }, 1);
      for (const [nth, topic] of ["x/y", "x", "x/a"].entries())
        await take(run, { ...publish, topic }, 2 + nth);
      await run.saved.save();
      await take(run, { do: "subscribe", client: "b", filter: "x/#", qos: 2, identifier: null }, 5);
      const queued = ({ saved }: Run) =>
        [...(saved.registry.get(7)?.sessions.get("b")?.outgoing ?? [])].map(([id, { topic }]) => [id, topic]);
      const before = queued(run);
      assert.is(before.length, 3);
      await run.kill();
      const again = await open(dir);
      assert.equal(queued(again), before);
      await again.kill();
    }));

  const command = (run: Run, receipt: number, expiry: number | null, ends: boolean[] = []) => {
    const properties = expiry === null ? null : { messageExpiryInterval: expiry };
    const message = { topic: "inbox", payload: Buffer.from("c"), qos: 1, properties, receipt } as const;
    run.records.send(
      device,
      message,
      (acknowledged) => ends.push(acknowledged),
      () => undefined,
    );
  };
  const left = async (run: Run) => {
    await take(run, { do: "connect", client: "a", clean: true, expiry: 3600, will: false }, 1);
    await take(run, { do: "disconnect", client: "a", orderly: true, expiry: null }, 2);
  };
  const outgoing = ({ saved }: Run) => [...(saved.registry.get(7)?.sessions.get("a")?.outgoing.keys() ?? [])];

  test("a command to several devices is one record with one payload; each gets it, after a kill as well", async () => {
    for (const saves of [false, true]) {
      await withTempDir(async (dir) => {
        const run = await open(dir);
        const devices = [7, 8, 9].map(
          (id) => ({ id, device: { tenant: 1, deviceID: `d${id}` } }) as DeviceEntry,
        );
        for (const one of devices) {
          const origin = { device: one, session: hashClientID("a"), ip: "" };
          const asked = { clientID: "a", cleanStart: false, sessionExpiry: 3600, keepAlive: 0, will: null };
          const connection = run.records.connect(origin, asked, () => undefined);
          const goodbye = { reason: "disconnect", orderly: true, sessionExpiry: null } as const;
          run.records.disconnect({ ...origin, connection }, 0, goodbye);
        }
        await settled(run.journal);
        if (saves) await run.saved.save();
        const payload = Buffer.alloc(50_000, "p");
        const before = run.journal.appendedID;
        const kept: number[] = [];
        const send = (one: DeviceEntry, bytes: Uint8Array, receipt: number) => {
          const message = { topic: "inbox", payload: bytes, qos: 1, properties: null, receipt } as const;
          run.records.send(
            one,
            message,
            () => undefined,
            () => kept.push(receipt),
          );
        };
        for (const one of devices) send(one, payload, 10 + one.id);
        send(devices[0] as DeviceEntry, Buffer.from("other"), 21);
        await Promise.resolve();
        assert.is(
          run.journal.appendedID - before,
          2,
          "one record for three devices, one for the other message",
        );
        await settled(run.journal);
        assert.equal(kept, [17, 18, 19, 21]);
        const topicsOf = ({ saved }: Run) =>
          devices.map(({ id }) =>
            [...(saved.registry.get(id)?.sessions.get("a")?.outgoing.values() ?? [])].map(
              ({ payload: bytes, receipt }) => `${receipt}: ${bytes.length}`,
            ),
          );
        const wanted = [["17: 50000", "21: 5"], ["18: 50000"], ["19: 50000"]];
        const payloadsOf = ({ saved }: Run) =>
          new Set(
            [7, 8, 9].map(
              (id) => [...(saved.registry.get(id)?.sessions.get("a")?.outgoing.values() ?? [])][0]?.payload,
            ),
          );
        assert.equal(topicsOf(run), wanted);
        assert.is(payloadsOf(run).size, 1, "in memory once");
        await run.kill();
        const again = await open(dir);
        assert.equal(topicsOf(again), wanted);
        assert.is(payloadsOf(again).size, 1);
        assert.equal([...again.saved.held.known].sort(), [17, 18, 19, 21]);
        const told: (readonly [number, boolean])[] = [];
        again.saved.held.listen((receipt, acknowledged) => told.push([receipt, acknowledged]));
        const state = again.saved.registry.get(8)?.sessions.get("a") as SessionState;
        again.saved.registry.delivered(state, 1);
        assert.equal(told, [[18, true]]);
        assert.is(again.saved.registry.held.of(1), heldIn(again.saved.registry, 1));
        await again.kill();
      });
    }
  });

  test("receipts of commands outlive the run, wherever it was saved", async () => {
    for (const saves of [false, true]) {
      await withTempDir(async (dir) => {
        const run = await open(dir);
        await left(run);
        for (const receipt of [11, 12, 13]) command(run, receipt, null);
        await settled(run.journal);
        if (saves) await run.saved.save();
        await take(run, { do: "connect", client: "a", clean: false, expiry: 3600, will: false }, 3);
        // The first is acknowledged and nobody writes it down elsewhere.
        await take(run, { do: "delivered", client: "a" }, 4);
        await run.kill();

        const again = await open(dir);
        const ends: [number, boolean][] = [];
        assert.equal([...again.saved.held.known].sort(), [11, 12, 13]);
        again.saved.held.listen((receipt, acknowledged) => ends.push([receipt, acknowledged]));
        assert.equal(ends, [[11, true]]);
        await take(again, { do: "connect", client: "a", clean: false, expiry: 3600, will: false }, 5);
        await take(again, { do: "delivered", client: "a" }, 6);
        assert.equal(ends, [
          [11, true],
          [12, true],
        ]);
        await take(again, { do: "connect", client: "b", clean: true, expiry: 0, will: false }, 7);
        again.links.delete("a");
        await take(again, { do: "connect", client: "a", clean: true, expiry: 0, will: false }, 8);
        assert.equal(ends.at(-1), [13, false]);
        await again.kill();
      });
    }
  });

  test("what the records have settled elsewhere is stored there before they are done with", async () => {
    await withTempDir(async (dir) => {
      const run = await open(dir);
      await left(run);
      const { savedID } = run.saved;
      await run.saved
        .save(() => Promise.reject(new Error("away")))
        .then(
          () => assert.unreachable(),
          ({ message }: Error) => assert.is(message, "away"),
        );
      assert.is(run.saved.savedID, savedID);
      await run.saved.save(() => Promise.resolve());
      assert.ok(run.saved.savedID > savedID);
      await run.kill();
    });
  });

  test("a file that is begun anew under a save has the whole state with the next one", async () => {
    await withTempDir(async (dir) => {
      const run = await open(join(dir, "one"), () => undefined);
      await left(run);
      command(run, 1, null);
      await settled(run.journal);
      await run.saved.save();
      command(run, 2, null);
      await settled(run.journal);
      let store: () => void = () => undefined;
      const stored = new Promise<void>((resolve) => {
        store = resolve;
      });
      const saving = run.saved.save(() => stored);
      await nextTurn();
      const remaking = run.saved.remake("a fault");
      await nextTurn();
      store();
      await Promise.all([saving, remaking]);
      await run.saved.save();
      const { committedID } = run.journal;
      await run.kill();
      const file = await openAlone(dir, committedID);
      assert.equal(outgoing(file), [1, 2]);
      await file.kill();
    });
  });

  test("an expired message frees its place in a queue, and the next start agrees", async () => {
    await withTempDir(async (dir) => {
      const run = await open(dir);
      await left(run);
      const ends: boolean[] = [];
      command(run, 1, 0, ends);
      command(run, 2, 3600, ends);
      command(run, 3, null, ends);
      await settled(run.journal);
      assert.equal(outgoing(run), [1, 2, 3]);
      await run.records.expireMessages();
      await settled(run.journal);
      assert.equal([outgoing(run), ends], [[2, 3], [false]]);
      await run.kill();
      const again = await open(dir);
      assert.equal(outgoing(again), [2, 3]);
      await again.kill();
    });
  });

  test("what an expired session held is free by the time of the record, swept away or not", async () => {
    await withTempDir(async (dir) => {
      const run = await open(dir);
      const hour = 3_600_000_000;
      const { registry } = run.saved;
      const connect = (nth: number, expiry: number, at: number) => {
        const ids = { tenant: 1, device: 7, deviceID: "d7", clientID: `c${nth}`, session: nth };
        const said = { cleanStart: false, expiry, will: null, ip: "", keepAlive: 0 };
        registry.connect({ ...ids, ...said, connection: nth, at });
        const end = { device: 7, connection: nth, at, orderly: true, expiry: null, ofEarlierRun: false };
        registry.disconnect(end);
      };
      for (let nth = 1; nth < sessionsPerDeviceMax; nth++) connect(nth, 86_400, nth);
      connect(sessionsPerDeviceMax, 60, hour);
      connect(99, 86_400, 2 * hour);
      const left = [...(registry.get(7)?.sessions.keys() ?? [])];
      assert.ok(left.includes("c1"), "the one longest away is not over");
      assert.not.ok(left.includes(`c${sessionsPerDeviceMax}`));
      await run.kill();
    });
  });

  test("whether a session goes on is decided by the time of CONNECT, however late it is on disk", async () => {
    await withTempDir(async (dir) => {
      let late = 0;
      const now = () => Date.now() + late;
      const journal = await openTestJournal(join(dir, "journal"));
      const store = await openSessionStore(join(dir, "sessions.db"), assert.unreachable);
      const { registry } = await openSessions(store, journal, createMeter(), notExpected);
      const records = createSessionRecords(journal, registry, now, () => undefined, createWorkBudget());
      const origin = { device, session: hashClientID("a"), ip: "" };
      const asked = { clientID: "a", cleanStart: false, sessionExpiry: 60, keepAlive: 0, will: null };
      const presents: boolean[] = [];
      const connection = records.connect(origin, asked, (_, present) => presents.push(present));
      records.disconnect({ ...origin, connection }, 0, {
        reason: "lost",
        orderly: false,
        sessionExpiry: null,
      });
      records.connect(origin, asked, (_, present) => presents.push(present));
      late = 3_600_000;
      await settled(journal);
      assert.equal(presents, [false, true]);
      await journal.close();
      await store.close();
    });
  });

  test("what the platform wants last stands, also where the wish before is not on disk yet", async () => {
    await withTempDir(async (dir) => {
      const run = await open(dir);
      await take(run, { do: "connect", client: "a", clean: true, expiry: 3600, will: false }, 1);
      const link = run.links.get("a");
      if (link === undefined) throw new Error("no session");
      const { origin, state } = link;
      run.records.subscribeByPlatform(origin, state, [{ topic: "x", qos: 1 }]);
      run.records.subscribeByPlatform(origin, state, []);
      await settled(run.journal);
      assert.equal([[...state.subscriptions.keys()], state.platform], [[], null]);
      run.records.subscribeByPlatform(origin, state, []);
      assert.is(run.journal.appendedID, run.journal.committedID, "nothing to do, no record");
      await run.kill();
    });
  });

  test("what could not be saved is saved in its order later", () => {
    const changes = createChanges();
    const state = {} as SessionState;
    changes.message(state, 1);
    changes.message(state, 2);
    const unsaved = changes.take();
    changes.message(state, 3);
    changes.message(state, 1);
    changes.putBack(unsaved);
    assert.equal([...(changes.take().messages.get(state) ?? [])], [1, 2, 3]);
  });

  test("devices that were deleted while nobody looked leave nothing", async () => {
    await withTempDir(async (dir) => {
      const run = await open(dir);
      await take(run, { do: "connect", client: "a", clean: true, expiry: 3600, will: false }, 1);
      await run.kill();
      const again = await open(dir);
      await forgetDeletedSessions(again.saved.registry, async (ids) => new Set(ids));
      assert.ok(again.saved.registry.get(7));
      await forgetDeletedSessions(again.saved.registry, async () => new Set());
      assert.is(again.saved.registry.get(7), undefined);
      await take(again, { do: "connect", client: "b", clean: true, expiry: 0, will: false }, 1);
      await again.saved.save();
      await again.kill();
      const third = await open(dir);
      assert.equal([...(third.saved.registry.get(7)?.sessions.keys() ?? [])], ["b"]);
      await third.kill();
    });
  });

  test("journals from before sessions were kept are read: a session that was not clean, for 90 days", async () => {
    await withTempDir(async (dir) => {
      const journal = await openTestJournal(join(dir, "journal"));
      const connect = (session: number, clientID: string, cleanStart: boolean) =>
        journal.append(
          journalInput({ kind: recordKinds.connect, session, clientID, cleanStart, keepAlive: 30 }),
        );
      const kept = connect(1, "kept", false);
      const clean = connect(2, "clean", true);
      journal.append(journalInput({ connection: kept, session: 1, qos: 2, messageID: 5 }));
      journal.append(journalInput({ connection: clean, session: 2, qos: 1 }));
      for (const [connection, session] of [
        [kept, 1],
        [clean, 2],
      ] as const) {
        journal.append(journalInput({ kind: recordKinds.disconnect, connection, session }));
      }
      await settled(journal);
      await journal.close();
      const { saved, kill } = await open(dir);
      const sessions = [...(saved.registry.get(7)?.sessions.values() ?? [])];
      assert.equal(
        sessions.map(({ clientID, expiry, unreleased }) => [clientID, expiry, [...unreleased]]),
        [["kept", sessionExpiryMax, [5]]],
      );
      await kill();
    });
  });

  test("what a killed run left open ends at the next start, and leaves its will", async () => {
    await withTempDir(async (dir) => {
      const run = await open(dir);
      for (const [clientID, expiry] of [
        ["a", 0],
        ["b", 3600],
      ] as const) {
        await take(run, { do: "connect", client: clientID, clean: true, expiry, will: true }, 1);
      }
      await run.kill();
      const { saved, records, journal, kill } = await open(dir);
      records.disconnectKilled(Date.now() * 1000);
      await settled(journal);
      const deviceSessions = saved.registry.get(7);
      assert.equal([...(deviceSessions?.sessions.keys() ?? [])], ["b"]);
      assert.is(deviceSessions?.wills.length, 2);
      assert.equal(
        saved.registry.dueWills(Date.now() * 1000 + 1e6).map(({ clientID }) => clientID),
        ["a"],
        "the will of a session that has ended does not wait",
      );
      await kill();
    });
  });
});
