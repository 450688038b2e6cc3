import type { Publication, PublishOutcome } from "../../../../ingest/clients/client.js";
import type { DeviceRequest } from "../../../../ingest/transports/http/requests/device-request.js";
import { createTaking } from "../../../../ingest/transports/http/requests/taking.js";
import { assert, suite } from "../../../suite.js";

const message: Publication = { topic: "t", payload: Buffer.from("{}"), key: null, sentAt: null, batch: null };

function takingOf(answers: readonly PublishOutcome[], response = { destroyed: false }) {
  const left = [...answers];
  const told: PublishOutcome[] = [];
  const request = {
    client: { takeNow: () => left.shift() },
    isFull: () => false,
    room: async () => true,
    response,
  };
  const taking = createTaking(request as unknown as DeviceRequest);
  return { told, left, take: () => taking.take(message, (outcome) => told.push(outcome)) };
}

suite("taking the messages of a request", (test) => {
  test("after one that may come again nothing more is tried; after one that is wrong the next is", () => {
    const { told, left, take } = takingOf(["topic", "rate", "policy"]);
    for (let n = 0; n < 4; n++) void take();
    assert.equal(told, ["topic", "rate", "rate", "rate"]);
    assert.is(left.length, 1);
  });

  test("nothing is taken for a client that has left", () => {
    const response = { destroyed: false };
    const { told, left, take } = takingOf(["policy", "policy"], response);
    void take();
    response.destroyed = true;
    void take();
    assert.equal(told, ["policy", "unavailable"]);
    assert.is(left.length, 1);
  });
});
