import { mergeSubscriptions, platformBytesMax } from "../../../ingest/messages/platform-subscriptions.js";
import { createMeter } from "../../../ingest/meter.js";
import { createChanges } from "../../../ingest/sessions/changes.js";
import { createSessionRegistry } from "../../../ingest/sessions/session-registry.js";
import type { PlatformSubscription } from "../../../store/journal/message.js";
import { encodePlatformDetails } from "../../../store/journal/record-details.js";
import { assert, suite } from "../../suite.js";
import { subscription } from "../sessions/support.js";

suite("platform subscriptions", (test) => {
  const x = { topic: "x", qos: 1 };
  const open = () => {
    const registry = createSessionRegistry(createChanges(), createMeter());
    const { state } = registry.connect({
      tenant: 1,
      device: 1,
      deviceID: "d1",
      clientID: "c",
      session: 1,
      connection: 1,
      at: 0,
      cleanStart: true,
      expiry: 0,
      will: null,
      ip: "",
      keepAlive: 0,
    });
    return {
      state,
      want: (wanted: readonly PlatformSubscription[]) => {
        const differs = registry.differsFromPlatform(state, wanted);
        registry.subscribeByPlatform(state, wanted, 0);
        assert.not.ok(registry.differsFromPlatform(state, wanted));
        return differs;
      },
      standing: () => Object.fromEntries([...state.subscriptions].map(([topic, { qos }]) => [topic, qos])),
      subscribe: (topic: string, qos: 0 | 1 | 2) =>
        registry.subscribe(state, topic, subscription({ qos }), 0),
      unsubscribe: (topic: string) => registry.unsubscribe(state, topic),
    };
  };

  test("come, change and go with what is wanted", () => {
    const { state, want, standing } = open();
    want([]);
    assert.is(state.platform, null, "most sessions keep nothing");
    want([x, { topic: "y", qos: 0 }]);
    assert.equal(standing(), { x: 1, y: 0 });
    want([{ topic: "x", qos: 2 }]);
    assert.equal(standing(), { x: 2 });
    want([]);
    assert.equal(standing(), {});
  });

  test("as many of many groups are wanted as a record holds", () => {
    const all = Array.from({ length: 2000 }, (_, i) => ({ topic: `${i}/${"é\u0001".repeat(300)}`, qos: 1 }));
    const merged = mergeSubscriptions(all);
    assert.equal(merged, all.slice(0, merged.length), "the first ones");
    const { length } = encodePlatformDetails(merged);
    assert.ok(length <= platformBytesMax + 2 && length > platformBytesMax - 10_000, `${length} bytes`);
    assert.equal(mergeSubscriptions([...all, { topic: all[0]?.topic ?? "", qos: 2 }]).length, merged.length);
  });

  test("what the client has asked for itself stays as it asked", () => {
    const { want, standing, subscribe } = open();
    subscribe("x", 0);
    want([x]);
    assert.equal(standing(), { x: 0 });
    want([]);
    assert.equal(standing(), { x: 0 });
    want([{ topic: "y", qos: 1 }]);
    subscribe("y", 0);
    want([]);
    assert.equal(standing(), { x: 0, y: 0 });
  });

  test("what the client has unsubscribed stays out until it is made anew", () => {
    const { want, standing, unsubscribe, subscribe } = open();
    want([x]);
    subscribe("x", 2);
    unsubscribe("x");
    want([x, { topic: "y", qos: 1 }]);
    assert.equal(standing(), { y: 1 });
    want([]);
    want([x]);
    assert.equal(standing(), { x: 1 });
  });

  test("the highest QoS of several with one filter counts", () => {
    assert.equal(mergeSubscriptions([x, { topic: "x", qos: 2 }, { topic: "x", qos: 0 }]), [
      { topic: "x", qos: 2 },
    ]);
  });
});
