import {
  applyPlatform,
  declinedByClient,
  mergeSubscriptions,
  ownedByClient,
  type PlatformSession,
} from "../../ingest/platform-subscriptions.js";
import { assert, suite } from "../suite.js";

suite("platform subscriptions", (test) => {
  const x = { topic: "x", qos: 1 };
  const open = () => {
    const session: PlatformSession = { subscriptions: new Map() };
    return {
      session,
      standing: () => Object.fromEntries(session.subscriptions),
      subscribe: (topic: string, qos: number) => {
        ownedByClient(session, topic);
        session.subscriptions.set(topic, qos);
      },
      unsubscribe: (topic: string) => {
        declinedByClient(session, topic);
        session.subscriptions.delete(topic);
      },
    };
  };

  test("come, change and go with what is wanted", () => {
    const { session, standing } = open();
    applyPlatform(session, []);
    assert.is(session.platform, undefined, "most sessions keep nothing");
    applyPlatform(session, [x, { topic: "y", qos: 0 }]);
    assert.equal(standing(), { x: 1, y: 0 });
    applyPlatform(session, [{ topic: "x", qos: 2 }]);
    assert.equal(standing(), { x: 2 });
    applyPlatform(session, []);
    assert.equal(standing(), {});
  });

  test("what the client has asked for itself stays as it asked", () => {
    const { session, standing, subscribe } = open();
    subscribe("x", 0);
    applyPlatform(session, [x]);
    assert.equal(standing(), { x: 0 });
    applyPlatform(session, []);
    assert.equal(standing(), { x: 0 });
    applyPlatform(session, [{ topic: "y", qos: 1 }]);
    subscribe("y", 0);
    applyPlatform(session, []);
    assert.equal(standing(), { x: 0, y: 0 });
  });

  test("what the client has unsubscribed stays out until it is made anew", () => {
    const { session, standing, unsubscribe, subscribe } = open();
    applyPlatform(session, [x]);
    subscribe("x", 2);
    unsubscribe("x");
    applyPlatform(session, [x, { topic: "y", qos: 1 }]);
    assert.equal(standing(), { y: 1 });
    applyPlatform(session, []);
    applyPlatform(session, [x]);
    assert.equal(standing(), { x: 1 });
  });

  test("of several with one filter the highest QoS counts", () => {
    assert.equal(mergeSubscriptions([x, { topic: "x", qos: 2 }, { topic: "x", qos: 0 }]), [
      { topic: "x", qos: 2 },
    ]);
  });
});
