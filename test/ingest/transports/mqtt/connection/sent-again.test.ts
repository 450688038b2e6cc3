import type { PublishPacket } from "../../../../../ingest/transports/mqtt/codec/packets.js";
import { SentAgain } from "../../../../../ingest/transports/mqtt/connection/sent-again.js";
import { assert, suite } from "../../../../suite.js";

const packet = (messageID: number, payload: string, topic = "t"): PublishPacket => ({
  cmd: "publish",
  topic,
  alias: 0,
  payload: Buffer.from(payload),
  qos: 1,
  dup: true,
  retain: false,
  messageID,
  properties: null,
  excess: null,
});

suite("messages that a client may send again", (test) => {
  test("until PUBACK: the latest of the id, with the same topic and payload", () => {
    const sent = new SentAgain();
    assert.not.ok(sent.has(packet(1, "a")));
    for (const one of [packet(1, "a"), packet(2, "b"), packet(1, "c")]) sent.taken(one);
    assert.equal(
      [packet(1, "a"), packet(1, "c"), packet(2, "b"), packet(2, "b", "u"), packet(3, "b")].map((one) =>
        sent.has(one),
      ),
      [false, true, true, false, false],
    );
    for (let i = 0; i < 3; i++) sent.acknowledged(false);
    assert.not.ok(sent.has(packet(1, "c")), "after PUBACK the id is a new message");
  });

  test("after PUBACK as long as what came before it is unread", () => {
    const sent = new SentAgain();
    for (const one of [packet(1, "a"), packet(2, "b")]) sent.taken(one);
    sent.acknowledged(true);
    sent.acknowledged(false);
    assert.equal(
      [packet(1, "a"), packet(1, "b"), packet(1, "a", "u"), packet(2, "b")].map((one) => sent.has(one)),
      [true, false, false, false],
    );
    sent.taken(packet(1, "b"));
    assert.equal([sent.has(packet(1, "a")), sent.has(packet(1, "b"))], [false, true], "the latest counts");
    sent.acknowledged(true);
    sent.caughtUp();
    assert.not.ok(sent.has(packet(1, "b")));
  });

  test("of the last thousand that were acknowledged late", () => {
    const sent = new SentAgain();
    for (let id = 1; id <= 1001; id++) {
      sent.taken(packet(id, "a"));
      sent.acknowledged(true);
    }
    assert.equal(
      [1, 2, 1001].map((id) => sent.has(packet(id, "a"))),
      [false, true, true],
    );
  });
});
