/** The live feed of a tenant whose events come from several nodes: in one process, over links of TCP. */

import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { DeviceEntry } from "../../ingest/directory/entries.js";
import type { MessageEvent, TenantEvent } from "../../ingest/live/tenant-events.js";
import { createTenantFeed, type TenantFeed, tenantFeedDefaults } from "../../ingest/live/tenant-feed.js";
import type { TopicFeedOptions } from "../../ingest/live/topic-feed.js";
import { createFeedOfNodes, type FeedOfNodes } from "../../src/live-nodes/cluster-feed.js";
import { answerNode } from "../../src/live-nodes/node-responder.js";
import {
  createLivePublisher,
  createShardPublisher,
  type ShardPublisher,
  type TakenOver,
} from "../../src/service/live-publisher.js";
import { journalRecord } from "../store/journal/support.js";
import { assert, suite, until } from "../suite.js";

const tenant = 1;
const message = (eventID: number, deviceID = "d"): MessageEvent => ({
  topic: "messages",
  deviceIntID: 1,
  deviceID,
  eventID,
  messageTopic: "t",
  size: 1,
  time: eventID,
  points: 0,
  refused: [{ reason: "unknown", key: "k", count: 2 }],
});

/** A node: what it keeps, what is listened to at it, and its port for the others. */
interface Node {
  readonly kept: TenantFeed;
  readonly heard: TenantFeed;
  readonly feed: FeedOfNodes;
  readonly server: Server;
  /** Links of others to this one. */
  readonly links: Set<Socket>;
  /** As the path of uplinks does. */
  tell(told: MessageEvent): void;
  /** Without a word; it comes back as another run. */
  die(): Promise<void>;
}

suite("the live feed of several nodes", (test) => {
  let nodes: Node[] = [];
  let faults: string[] = [];
  const portOf: number[] = [];

  /** @param answers takes what others ask of it */
  async function start(
    place: number,
    options: Partial<TopicFeedOptions> = {},
    answers: (kept: TenantFeed, link: Socket) => unknown = answerNode,
  ): Promise<Node> {
    const kept = createTenantFeed({ ...tenantFeedDefaults, ...options });
    const heard = createTenantFeed({ ...tenantFeedDefaults, ...options });
    const links = new Set<Socket>();
    const server = createServer((socket) => {
      links.add(socket);
      socket.once("close", () => links.delete(socket));
      void answers(kept, socket);
    });
    await new Promise<void>((resolve) => server.listen(portOf[place] ?? 0, "127.0.0.1", resolve));
    portOf[place] = (server.address() as AddressInfo).port;
    const feed = createFeedOfNodes(
      heard,
      {
        others: [0, 1, 2].filter((one) => one !== place),
        openEvents: (node) =>
          new Promise((resolve, reject) => {
            const socket = connect(portOf[node] ?? 0, "127.0.0.1");
            socket.once("connect", () => resolve(socket));
            socket.on("error", reject);
          }),
        onFault: (error) => faults.push(error.message),
        now: () => 4711,
      },
      options.heldMs ?? tenantFeedDefaults.heldMs,
    );
    const node: Node = {
      kept,
      heard,
      feed,
      server,
      links,
      tell: (told) => {
        for (const one of [kept, heard]) one.tell(tenant, told);
      },
      die: async () => {
        feed.close();
        for (const one of [kept, heard]) one.close();
        for (const link of links) link.destroy();
        await new Promise((resolve) => server.close(resolve));
      },
    };
    nodes[place] = node;
    return node;
  }
  const startAll = (options: Partial<TopicFeedOptions> = {}): Promise<Node[]> =>
    Promise.all([0, 1, 2].map((place) => start(place, options)));

  test.before.each(() => {
    nodes = [];
    faults = [];
  });
  test.after.each(async () => {
    for (const node of nodes) await node.die();
  });

  /** Collects the events of a stream until it is closed. */
  function listen(
    node: Node,
    after: number | null = null,
    topics: ("messages" | "points" | "alerts")[] = ["messages"],
  ) {
    const subscription = node.feed.subscribe(tenant, topics, after);
    if (subscription === null) throw new Error("there are too many streams");
    const events: TenantEvent[] = [];
    void (async () => {
      while (subscription.open) {
        events.push(...subscription.take(1e6));
        await subscription.wait(1000);
      }
    })();
    const ids = (): unknown[] => events.map((one) => (one.topic === "messages" ? one.eventID : one.topic));
    return { subscription, events, ids };
  }
  const linksOf = (some: readonly Node[]): number => some.reduce((sum, { links }) => sum + links.size, 0);
  const three = (): [Node, Node, Node] => nodes as [Node, Node, Node];

  test("receives what each node keeps, once, however many listen at however many nodes", async () => {
    await startAll();
    const listening = [...nodes, ...nodes].map((node) => listen(node));
    for (const { subscription } of listening) assert.is(await subscription.ready(), true);
    for (const [i, node] of nodes.entries()) {
      for (let n = 0; n < 100; n++) node.tell(message(i * 1000 + n));
    }
    for (const { events, ids } of listening) {
      await until(() => events.length >= 300, { what: "all events" });
      for (const i of nodes.keys()) {
        assert.equal(
          ids().filter((id) => Math.floor(Number(id) / 1000) === i),
          Array.from({ length: 100 }, (_, n) => i * 1000 + n),
        );
      }
    }
    const [{ tell }] = three();
    tell(message(9999));
    for (const { ids } of listening) await until(() => ids().includes(9999), { what: "one more" });
    for (const { events } of listening) assert.is(events.length, 301);
    assert.is(linksOf(nodes), 6, "one for each pair of nodes");
  });

  test("points and texts come as they are stored", async () => {
    await startAll();
    const [here, there] = three();
    const { subscription, events } = listen(here, null, ["points"]);
    subscription.watch(new Set(["a"]));
    assert.is(await subscription.ready(), true);
    const point = (deviceID: string, time: number, value: number | boolean | string) => ({
      series: { tenant, deviceID, field: "f" },
      time,
      value,
    });
    there.kept.publish([point("b", 1, 1), point("a", 2.5, 0.1), point("a", 3, true), point("a", 4, 'é\\n"')]);
    await until(() => events.length === 3, { what: "the points" });
    const shown = events.map((one) => one.topic === "points" && [one.time, one.value]);
    assert.equal(shown.slice(0, 2), [
      [2.5, 0.1],
      [3, true],
    ]);
    assert.equal(Buffer.from((shown[2] as [number, Uint8Array])[1]).toString(), JSON.stringify('é\\n"'));
    subscription.watch(new Set(["b"]));
    assert.is(await subscription.ready(), true);
    there.kept.publish([point("b", 5, 5)]);
    await until(() => events.length === 4, { what: "the other device's" });
  });

  test("a link that breaks is opened again, and nothing is missed or sent twice", async () => {
    await startAll();
    const [here, there] = three();
    const { subscription, ids } = listen(here);
    await subscription.ready();
    for (let n = 0; n < 300; n++) {
      there.tell(message(n));
      if (n % 100 === 50) {
        await until(() => ids().length > 0, { what: "some" });
        for (const link of there.links) link.destroy();
      }
    }
    await until(() => ids().includes(299), { what: "the last" });
    assert.equal(
      ids(),
      Array.from({ length: 300 }, (_, n) => n),
    );
  });

  test("a node that is away is missed, and missed again as it comes back as another run", async () => {
    await startAll();
    const [here, there, third] = three();
    const { subscription, ids } = listen(here);
    assert.is(await subscription.ready(), true);
    await there.die();
    await until(() => ids().length === 1, { what: "that something is missed" });
    const late = listen(here);
    assert.is(await late.subscription.ready(), false);
    third.tell(message(1));
    await until(() => ids().includes(1), { what: "what is there" });
    const back = await start(1);
    await until(() => ids().length === 3, { what: "that something was missed" });
    back.tell(message(2));
    await until(() => ids().includes(2), { what: "what it keeps" });
    assert.equal(ids(), ["gap", 1, "gap", 2]);
    assert.equal(late.ids(), [1, "gap", 2]);
    assert.is(await listen(here).subscription.ready(), true);
    assert.is(faults.length, 1);
  });

  test("a node that was away before anybody listened reports that when it comes", async () => {
    await start(0);
    await start(2);
    const { subscription, ids } = listen(nodes[0] as Node);
    assert.is(await subscription.ready(), false);
    const back = await start(1);
    await until(() => ids().length === 1, { what: "that something was missed" });
    back.tell(message(1));
    await until(() => ids().includes(1), { what: "what it keeps" });
    assert.equal(ids(), ["gap", 1]);
  });

  test("links end a while after the last stream has left, and nothing of it stays at other nodes", async () => {
    await startAll({ heldMs: 30 });
    const [here, there] = three();
    const [one, two] = [listen(here), listen(here)];
    await one.subscription.ready();
    assert.is(linksOf(nodes), 2);
    one.subscription.close();
    one.subscription.close();
    two.subscription.giveUp();
    await until(() => linksOf(nodes) === 0, { what: "the end of the links" });
    await until(() => !there.kept.wants("messages"), { what: "the end of what was asked for" });
    assert.is(there.kept.counts().listeners, 0);
    const again = listen(here);
    assert.is(await again.subscription.ready(), true);
    there.tell(message(1));
    await until(() => again.ids().includes(1), { what: "an event after all" });
  });

  test("what a stream wanted ends with it, at other nodes too, while others go on", async () => {
    await startAll({ heldMs: 30 });
    const [here, there, third] = three();
    const [points, messages] = [listen(here, null, ["points"]), listen(here)];
    const far = listen(third, null, ["alerts", "points"]);
    for (const { subscription } of [points, messages, far]) await subscription.ready();
    const wants = () => (["points", "messages"] as const).map((topic) => there.kept.wants(topic, tenant));
    assert.equal(wants(), [true, true]);
    // By a stream that leaves, and by the end of a node's link.
    points.subscription.close();
    await third.die();
    await until(() => !there.kept.wants("points", tenant), { what: "an end of points" });
    assert.equal(wants(), [false, true]);
    there.tell(message(1));
    await until(() => messages.ids().includes(1), { what: "what is still wanted" });
  });

  test("a stream that comes back receives what other nodes have published since", async () => {
    await startAll();
    const [here, there] = three();
    const first = listen(here);
    await first.subscription.ready();
    there.tell(message(1));
    await until(() => first.ids().length === 1, { what: "the first" });
    const seen = here.feed.newest;
    first.subscription.close();
    there.tell(message(2));
    await until(() => here.feed.newest > seen, { what: "that it is held" });
    const back = listen(here, seen);
    assert.is(back.subscription.resumed, true);
    await until(() => back.ids().length === 1, { what: "what it missed" });
    assert.equal(back.ids(), [2]);
  });

  test("nobody's question costs nothing: alerts and commands alone open no link", async () => {
    await startAll();
    const { subscription } = listen(nodes[0] as Node, null, ["alerts"]);
    assert.is(await subscription.ready(), true);
    assert.is(linksOf(nodes), 0);
  });

  test("streams count where they are asked for, and not at the others", async () => {
    await startAll({ listenersOfTenantMax: 3 });
    const [here, there] = three();
    for (let n = 0; n < 3; n++) await listen(here).subscription.ready();
    assert.is(here.feed.subscribe(tenant, ["messages"], null), null);
    for (let n = 0; n < 3; n++) await listen(there).subscription.ready();
    assert.is(there.feed.subscribe(tenant, ["messages"], null), null);
  });

  test("events of a shard that moves are published once, by any owner; those of unknown state count as missed", async () => {
    await startAll();
    const [, first, second] = three();
    const listening = nodes.map((node) => listen(node));
    for (const { subscription } of listening) assert.is(await subscription.ready(), true);
    const device = { id: 1, device: { deviceID: "d" } } as DeviceEntry;
    const shardAt = ({ kept, heard }: Node, takenOver: TakenOver): ShardPublisher => {
      const telling = createLivePublisher([heard, kept], { get: async () => device }, () => 4712);
      return createShardPublisher(telling, takenOver);
    };
    const numbers = (from: number, through: number): number[] =>
      Array.from({ length: through - from + 1 }, (_, i) => from + i);
    const take = (shard: ShardPublisher, from: number, through: number): void => {
      for (const id of numbers(from, through)) {
        const record = { ...journalRecord(id, id), tenant };
        shard.message(id - 1, record, device, null);
        shard.settled(id);
      }
    };
    const all = async (...expected: readonly unknown[]): Promise<void> => {
      for (const { ids } of listening) {
        await until(() => ids().length >= expected.length, { what: `event ${expected.length}` });
        assert.equal(ids(), expected);
      }
    };
    const before = shardAt(first, { lastID: 0, isBroken: false });
    take(before, 1, 50);
    await all(...numbers(1, 50));
    // The shard is handed over in order, with all of it published.
    const after = shardAt(second, { lastID: 50, isBroken: false });
    after.settled(50);
    take(after, 51, 105);
    await all(...numbers(1, 105));
    // The shard is taken over while its owner stands still. The owner has published all but the last five, and learns
    // of the move later.
    const again = shardAt(first, { lastID: 110, isBroken: true });
    take(again, 101, 120);
    await all(...numbers(1, 105), "gap", ...numbers(111, 120));
    after.end();
    take(after, 106, 110);
    after.presence(1, 0);
    take(again, 121, 121);
    await all(...numbers(1, 105), "gap", ...numbers(111, 121));
  });

  test("a reader that is too slow misses something, learns that, and holds up nobody", async () => {
    await startAll({ topicBytesMax: 64 * 1024 });
    const [here, there] = three();
    const { subscription, ids } = listen(here);
    await subscription.ready();
    // More in one turn than is held.
    for (let n = 0; n < 1000; n++) there.tell(message(n));
    await until(() => ids().includes("gap"), { what: "that something was missed" });
    there.tell(message(5000));
    await until(() => ids().includes(5000), { what: "what comes then" });
  });

  test("a node that takes links and says nothing holds a stream up for a while, and not for good", async () => {
    const silent = await start(1, {}, () => undefined);
    await start(2);
    const here = await start(0);
    const { subscription, ids } = listen(here);
    assert.is(await subscription.ready(), false);
    nodes[2]?.tell(message(1));
    await until(() => ids().includes(1), { what: "what the other keeps" });
    // More than waits for it: the link is given up, and another has all that is wanted.
    const devices = new Set(Array.from({ length: 1000 }, (_, n) => String(n).padStart(64, "x")));
    const isGivenUp = () => {
      for (let n = 0; n < 50; n++) subscription.watch(devices);
      return faults.length > 0;
    };
    await until(isGivenUp, { what: "an end of the link" });
    assert.equal(faults, ["it does not read"]);
    await until(() => silent.links.size > 1, { what: "another link" });
  });

  test("what is no line of ours ends the link alone", async () => {
    await startAll();
    const [here, there] = three();
    const { subscription, ids } = listen(here);
    await subscription.ready();
    for (const said of [
      '{"line":"open"}\n',
      "nonsense\n",
      `${"x".repeat(5 << 20)}`,
      '{"line":"open","tenant":1}\n{}\n',
    ]) {
      const socket = connect(portOf[1] ?? 0, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.resume();
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.write(said);
      await closed;
    }
    there.tell(message(1));
    await until(() => ids().includes(1), { what: "events for others" });
  });
});
