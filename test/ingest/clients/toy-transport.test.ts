/** A transport that names no limit has all of them: what is not in its 70 lines comes from `createClients`. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { ClientCertificate } from "../../../ingest/access/credentials.js";
import { authenticateDevice } from "../../../ingest/access/credentials.js";
import { createDenials } from "../../../ingest/access/denials.js";
import { createGuessBackOff } from "../../../ingest/access/guess-back-off.js";
import { freeLoginFailures, guardGuessing } from "../../../ingest/access/guessing.js";
import { createLimits } from "../../../ingest/access/limits.js";
import { createVerifiedLogins } from "../../../ingest/access/verified-logins.js";
import type { ClientsContext } from "../../../ingest/clients/clients.js";
import { usualInFlight } from "../../../ingest/clients/in-flight.js";
import { createWaitingForDisk } from "../../../ingest/clients/waiting-for-disk.js";
import type { DeviceEntry } from "../../../ingest/directory/entries.js";
import { createPresence } from "../../../ingest/directory/presence.js";
import { createMeter } from "../../../ingest/meter.js";
import { compilePolicies } from "../../../ingest/policies.js";
import { createChanges } from "../../../ingest/sessions/changes.js";
import { createConnections } from "../../../ingest/sessions/connections.js";
import { createSessionRecords } from "../../../ingest/sessions/records.js";
import { createSessionRegistry } from "../../../ingest/sessions/session-registry.js";
import { createAccept } from "../../../ingest/uplinks/accept.js";
import { createWorkBudget } from "../../../ingest/uplinks/work-budget.js";
import type { Journal } from "../../../store/journal/journal.js";
import type { JournalInput } from "../../../store/journal/record.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { createStillClock } from "../../clock.js";
import { shardsOf } from "../../shards.js";
import { assert, suite, until } from "../../suite.js";
import { createToyTransport } from "./toy-transport.js";

const off = { connectionsMax: 0, messagesPerSecond: 0, bytesPerSecond: 0 };

/** A shard whose journal commits when the test says so, with devices `a` and `b` of one tenant, behind a toy transport. */
async function openToy({ device = off, tenant = off, commits = true, clientsMax = 100 } = {}) {
  const clock = createStillClock();
  const meter = createMeter();
  const appended: JournalInput[] = [];
  const waiting: (() => void)[] = [];
  const state = { full: false, stopped: null as string | null };
  const journal = {
    append: (input: JournalInput, done?: (id: number) => void) => {
      const id = appended.push(input);
      if (commits || input.kind !== recordKinds.uplink) queueMicrotask(() => done?.(id));
      else waiting.push(() => done?.(id));
      return id;
    },
    get full() {
      return state.full;
    },
    get stopped() {
      return state.stopped;
    },
  } as unknown as Journal;
  const entries = ["a", "b"].map((name, i): DeviceEntry => {
    const row = { id: i + 1, deviceID: name, deviceUsername: name, tenant: 1, authType: 1, blocked: 0 };
    const access = compilePolicies([{ id: 1, topic: "no/#", access: 2, allow: 0 }], row);
    const lists = { rules: [], subscriptions: [], certificates: new Map() };
    return { id: i + 1, access, ...lists, device: { ...row, token: "t" } } as unknown as DeviceEntry;
  });
  const registry = createSessionRegistry(createChanges(), meter);
  const work = createWorkBudget();
  const accept = createAccept(journal, meter, () => false);
  const limits = createLimits({ device, tenant }, clock.monotonic);
  const guesses = {
    backOff: createGuessBackOff(clock.monotonic, freeLoginFailures),
    proven: createVerifiedLogins(),
  };
  const directory = {
    findByUsername: async (name: string) => entries.find((one) => one.device.deviceUsername === name),
  } as never;
  const shared = {
    ...{ meter, limits, clientsMax, now: clock.now, monotonic: clock.monotonic },
    denials: createDenials(shardsOf([accept], directory), meter, clock.monotonic),
    authenticate: (
      username: string | undefined,
      token: string | undefined,
      certificate: ClientCertificate | null,
      address: string,
    ) =>
      guardGuessing(guesses, { address, username, token }, false, () =>
        authenticateDevice(directory, username, { token, certificate }, clock.now(), async () => false),
      ),
  };
  const presence = createPresence({} as never, 0, clock.now);
  const context = {
    ...{ ...shared, accept, registry, work, presence, topics: { bytesMax: 100, levelsMax: 4 } },
    connections: createConnections({ registry, now: clock.now }),
    records: createSessionRecords(journal, registry, clock.now, () => undefined, work),
    waiting: createWaitingForDisk(accept),
    ids: { hold: () => ({}), release: () => undefined },
    platformSubscriptions: () => [{ topic: "down", qos: 0 as const }],
    hold: () => undefined,
    release: () => undefined,
  } as unknown as ClientsContext;
  const server = createServer(createToyTransport(shared, shardsOf([context], directory)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const sockets: Socket[] = [];
  return {
    ...{ meter, appended, clock, state, registry, presence, context },
    kinds: () => appended.map(({ kind }) => kind),
    uplinks: () => appended.filter(({ kind }) => kind === recordKinds.uplink).length,
    commit: () => {
      for (const done of waiting.splice(0)) done();
    },
    client: (...lines: readonly string[]) => {
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
      sockets.push(socket);
      let text = "";
      socket.on("data", (chunk) => {
        text += String(chunk);
      });
      socket.on("error", () => undefined);
      const say = (...more: readonly string[]) => socket.write(more.map((line) => `${line}\n`).join(""));
      say(...lines);
      const has = (line: string) =>
        until(() => text.split("\n").includes(line), { what: `${line} after ${text.slice(-200)}` });
      return { socket, say, has, lines: () => text.split("\n").slice(0, -1) };
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

type Toy = Awaited<ReturnType<typeof openToy>>;

suite("a toy transport inherits every limit", (test) => {
  function inherits(what: string, options: Parameters<typeof openToy>[0], show: (toy: Toy) => Promise<void>) {
    test(what, async () => {
      const toy = await openToy(options);
      try {
        await show(toy);
      } finally {
        toy.close();
      }
    });
  }

  inherits("presence, metering, the event log, subscriptions by the platform", {}, async (toy) => {
    const { has, socket } = toy.client("LOGIN one a t", "PUB down hello");
    await has("OK");
    await has("MSG down hello");
    assert.equal([toy.presence.online, toy.meter.connections, toy.meter.messages], [1, 1, 1]);
    const { connect: begun, uplink, disconnect } = recordKinds;
    for (const kind of [begun, uplink]) assert.ok(toy.kinds().includes(kind));
    socket.destroy();
    await until(() => toy.kinds().includes(disconnect), { what: "the end on record" });
    assert.equal([toy.presence.online, toy.meter.connections, toy.meter.ended.get("lost")], [0, 0, 1]);
  });

  inherits("message size, topic rules and policies, with their refusals counted", {}, async (toy) => {
    const { has } = toy.client("LOGIN one a t", `PUB t ${"x".repeat(262_145)}`, "PUB a/# x", "PUB no/a x");
    for (const reason of ["oversize", "topic", "policy"]) await has(`NO ${reason}`);
    const { messagesRefused, policyRefused } = toy.meter;
    assert.equal([messagesRefused.get("oversize"), messagesRefused.get("topic")], [1, 1]);
    assert.equal([policyRefused.get("publish"), toy.uplinks()], [1, 0]);
  });

  inherits("rate of a device", { device: { ...off, messagesPerSecond: 1 } }, async (toy) => {
    const many = Array.from({ length: 40 }, () => "PUB t x");
    const { has } = toy.client("LOGIN one a t", ...many);
    await has("OK");
    await until(() => toy.meter.slowedDown > 0, { what: "a message that waits" });
    assert.ok(toy.uplinks() < 40);
  });

  inherits("bytes of a tenant", { tenant: { ...off, bytesPerSecond: 100 } }, async (toy) => {
    const { has } = toy.client("LOGIN one a t", `PUB t ${"x".repeat(5000)}`, "PUB t x");
    await has("NO rate");
    assert.is(toy.uplinks(), 1);
  });

  inherits("the in-flight budget", { commits: false }, async (toy) => {
    const { messages } = usualInFlight;
    const all = messages + 500;
    const { has, lines } = toy.client("LOGIN one a t", ...Array.from({ length: all }, () => "PUB t x"));
    await has("IN");
    await until(() => toy.uplinks() > messages, { what: "a full budget" });
    assert.equal([toy.uplinks(), lines()], [messages + 1, ["IN"]]);
    const isAll = () => {
      toy.commit();
      return lines().filter((line) => line === "OK").length === all;
    };
    await until(isAll, { what: "all of them" });
  });

  inherits("throttled logins by address and user name, refusals on record", {}, async (toy) => {
    for (let n = 0; n < freeLoginFailures; n++) await toy.client("LOGIN one a wrong").has("OUT credentials");
    await toy.client("LOGIN one a t").has("OUT back_off");
    await toy.client("LOGIN one b t").has("IN");
    const { ended } = toy.meter;
    assert.equal([ended.get("credentials"), ended.get("back_off")], [freeLoginFailures, 1]);
    assert.ok(toy.kinds().includes(recordKinds.denial));
  });

  inherits("connections of a device", { device: { ...off, connectionsMax: 1 } }, async (toy) => {
    await toy.client("LOGIN one a t").has("IN");
    await toy.client("LOGIN two a t").has("OUT connections");
    await toy.client("LOGIN one b t").has("IN");
  });

  inherits("connections of a tenant", { tenant: { ...off, connectionsMax: 1 } }, async (toy) => {
    await toy.client("LOGIN one a t").has("IN");
    await toy.client("LOGIN one b t").has("OUT connections");
  });

  inherits("places of the process", { clientsMax: 1 }, async (toy) => {
    await toy.client("LOGIN one a t").has("IN");
    await toy.client("LOGIN one b t").has("OUT room");
  });

  inherits("one connection a client id, and none once the device is blocked", {}, async (toy) => {
    const first = toy.client("LOGIN one a t");
    await first.has("IN");
    const second = toy.client("LOGIN one a t");
    await second.has("IN");
    await first.has("OUT taken_over");
    toy.context.connections.check(1, undefined);
    await second.has("OUT thrown_out");
  });

  inherits("a journal that takes nothing", {}, async (toy) => {
    const { has, say } = toy.client("LOGIN one a t");
    await has("IN");
    toy.state.full = true;
    say("PUB t x");
    await has("NO unavailable");
    await toy.client("LOGIN one b t").has("OUT unavailable");
  });
});
