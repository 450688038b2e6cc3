import { join } from "node:path";
import fc from "fast-check";
import { createAccept, type Origin, sessionOf } from "../../ingest/accept.js";
import type { DeviceEntry } from "../../ingest/directory-entries.js";
import type { Will } from "../../ingest/message.js";
import { createMeter } from "../../ingest/meter.js";
import { openSpaces, type SavedSpaces } from "../../ingest/sessions/open.js";
import { createSessionRecords, type SessionRecords } from "../../ingest/sessions/records.js";
import type { SessionState } from "../../ingest/sessions/state.js";
import type { Journal } from "../../store/journal.js";
import { openSessionStore } from "../../store/session-store.js";
import { openTestJournal } from "../store/journal-support.js";
import { assert, suite, withTempDir } from "../suite.js";
import { subscription } from "./session-support.js";

/** One process: journal, state, and what writes them. */
interface Run {
  readonly journal: Journal;
  readonly saved: SavedSpaces;
  readonly records: SessionRecords;
  readonly links: Map<string, { origin: Origin; state: SessionState }>;
  kill(): Promise<void>;
}

const device = { id: 7, device: { tenant: 1, deviceID: "d7" } } as DeviceEntry;

async function open(dir: string): Promise<Run> {
  const journal = await openTestJournal(join(dir, "journal"));
  const store = await openSessionStore(join(dir, "sessions.db"));
  const saved = await openSpaces(store, journal, createMeter());
  const records = createSessionRecords(journal, saved.spaces, Date.now, () => undefined);
  const kill = async (): Promise<void> => {
    await journal.close();
    store.close();
  };
  return { journal, saved, records, links: new Map(), kill };
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
  | { do: "release" | "received" | "delivered"; client: string }
  | { do: "command" | "wills" | "save" };

const client = fc.constantFrom("a", "b");
const filter = fc.constantFrom("x", "x/#", "+/y", "#", "inbox");
const topic = fc.constantFrom("x", "x/y", "inbox", "z");
const qos = fc.constantFrom<0 | 1 | 2>(0, 1, 2);
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("connect" as const),
    ...{ client, clean: fc.boolean(), expiry: fc.constantFrom(0, 3600, 0xffff_ffff), will: fc.boolean() },
  }),
  fc.record({
    do: fc.constant("disconnect" as const),
    ...{ client, orderly: fc.boolean(), expiry: fc.constantFrom(null, 60) },
  }),
  fc.record({
    do: fc.constant("subscribe" as const),
    ...{ client, filter, qos, identifier: fc.option(fc.integer({ min: 1, max: 9 })) },
  }),
  fc.record({ do: fc.constant("unsubscribe" as const), client, filter }),
  fc.record({
    do: fc.constant("publish" as const),
    ...{ client, topic, qos, retain: fc.boolean(), text: fc.constantFrom("", "m", "n"), type: fc.boolean() },
  }),
  fc.record({
    do: fc.constant("platform" as const),
    client,
    wanted: fc.uniqueArray(fc.record({ topic: filter, qos }), { selector: ({ topic }) => topic }),
  }),
  fc.record({ do: fc.constantFrom("release" as const, "received" as const, "delivered" as const), client }),
  fc.record({ do: fc.constantFrom("command" as const, "wills" as const, "save" as const) }),
);

/** Does what the endpoint would, and waits for the disk. */
async function take(run: Run, step: Step, nth: number): Promise<void> {
  const { journal, saved, records, links } = run;
  const { spaces } = saved;
  const link = "client" in step ? links.get(step.client) : undefined;
  if (step.do === "save") return saved.save();
  if (step.do === "wills")
    for (const due of spaces.dueWills(Date.now() * 1000)) records.publishWill(due, false);
  if (step.do === "command") {
    records.send(
      device,
      { topic: "inbox", payload: Buffer.from(`c${nth}`), qos: 1, properties: null, receipt: nth },
      () => undefined,
      () => undefined,
    );
  }
  if (step.do === "connect" && link === undefined) connect(run, step);
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

const settled = (journal: Journal): Promise<void> => journal.waitFor(journal.appendedID - 1);

function connect({ records, links }: Run, step: Extract<Step, { do: "connect" }>): void {
  const { client: clientID, clean: cleanStart, expiry: sessionExpiry } = step;
  const origin = { device, session: sessionOf(clientID), ip: "127.0.0.1" };
  const will: Will = {
    ...{ topic: "x", payload: Buffer.from("will"), qos: 1, retain: true, delay: 5 },
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
      if (qos === 2) saved.spaces.took(state, nth);
      const at = Date.now() * 1000;
      const { device, session } = origin;
      saved.spaces.publish({ device: device.id, session, topic, payload, qos, retain, properties, at });
    },
  );
}

/** All of the state that has to come back. Times differ by what lies between a record and its commit. */
function shape({ spaces }: SavedSpaces) {
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
  return [...spaces.all()].map(({ device, deviceID, tenant, sessions, retained, retainedBytes, wills }) => ({
    ...{ device, deviceID, tenant, retainedBytes },
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
  }));
}

suite("saved sessions", (test) => {
  test(
    "come back as they were, whatever happened and wherever it was saved",
    async () => {
      const property = fc.asyncProperty(fc.array(steps, { maxLength: 40 }), async (story) => {
        await withTempDir(async (dir) => {
          const run = await open(dir);
          for (const [nth, step] of story.entries()) await take(run, step, nth + 1);
          const before = shape(run.saved);
          await run.kill();
          const again = await open(dir);
          assert.equal(shape(again.saved), before);
          await again.saved.save();
          await again.kill();
          const third = await open(dir);
          assert.equal(shape(third.saved), before, "saved whole");
          await third.kill();
        });
      });
      await fc.assert(property, { numRuns: 150 });
    },
    { timeoutMs: 60_000 },
  );

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
      const space = saved.spaces.get(7);
      assert.equal([...(space?.sessions.keys() ?? [])], ["b"]);
      assert.is(space?.wills.length, 2);
      assert.equal(
        saved.spaces.dueWills(Date.now() * 1000 + 1e6).map(({ clientID }) => clientID),
        ["a"],
        "the will of a session that has ended does not wait",
      );
      await kill();
    });
  });
});
