import { createTopicMemory } from "../../../ingest/sessions/remembered-topics.js";
import { createSubscriptions } from "../../../ingest/sessions/subscriptions.js";
import { assert, suite } from "../../suite.js";

const long = (i: number): string => `${i}/${"x".repeat(1000)}`;

suite("remembered matches of topics", (test) => {
  test("is bounded in bytes, of one client and of all, by the length of the topics", () => {
    const memory = createTopicMemory<number>({ ofAll: 100_000, ofOne: 16_384 });
    const clients = Array.from({ length: 50 }, () => memory.begin());
    for (let i = 0; i < 100; i++) {
      for (const client of clients) client.set(long(i), i, 0);
      assert.ok(memory.bytes <= 100_000, `${memory.bytes} bytes`);
    }
    const held = clients.map((client) => Array.from({ length: 100 }, (_, i) => client.has(long(i))));
    const kept = held.flat().filter(Boolean).length;
    assert.ok(kept > 10 && kept * 2000 <= 100_000, `${kept} topics`);
    assert.is(clients.at(-1)?.get(long(99)), 99, "the newest is remembered");
    for (const client of clients) client.forget();
    assert.is(memory.bytes, 0);
  });

  test("of one client ends by its bytes as well as by its topics", () => {
    const memory = createTopicMemory<number>();
    const client = memory.begin();
    for (let i = 0; i < 1000; i++) {
      client.set(long(i), i, 16 * 100);
      assert.ok(memory.bytes <= 16_384);
    }
    client.set("too large", 0, 20_000);
    assert.is(client.has("too large"), false);
  });

  test("is found the same whether it is remembered or not", () => {
    const subscription = { qos: 1, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const;
    const filters = Array.from(
      { length: 300 },
      (_, i): [string, typeof subscription & { identifier: number }] => [
        `${"+/".repeat(i % 30)}#`.concat(i >= 30 ? `/${i}`.slice(2) : ""),
        { ...subscription, identifier: i + 1 },
      ],
    );
    const subscriptions = createSubscriptions(filters);
    for (let i = 0; i < 100; i++) {
      const topic = long(i);
      const first = subscriptions.grant(topic, false);
      assert.equal(subscriptions.grant(topic, false), first);
      assert.equal(subscriptions.grant(topic, true), first);
    }
  });
});
