/** Answers that devices do not read: bounded, and counted with those to callers. */
import { EventEmitter } from "node:events";
import { takeBatch } from "../../../../ingest/transports/http/messages/batch.js";
import { firstMessage } from "../../../../ingest/transports/http/messages/inbox.js";
import { type HttpResponse, sendAnswer } from "../../../../ingest/transports/http/requests/answers.js";
import type { DeviceRequest } from "../../../../ingest/transports/http/requests/device-request.js";
import { makeDevice, makeProduct } from "../../../factories.js";
import { assert, suite } from "../../../suite.js";
import { worldSuite } from "../../../world.js";
import { asDevice } from "./support.js";

/** Notes what is written to it. */
class Response extends EventEmitter {
  destroyed = false;
  status = 0;
  body = "";
  writeHead(status: number): this {
    this.status = status;
    return this;
  }
  end(body = ""): void {
    this.body = body;
  }
  as(): HttpResponse {
    return this as unknown as HttpResponse;
  }
}

suite("answers to devices", (test) => {
  const large = { status: 200, body: "x".repeat(100_000) };

  test("a large one holds its reservation until its client has it, or has left", () => {
    const response = new Response();
    let [held, released] = [0, 0];
    const room = (bytes: number) => {
      held += bytes;
      return () => void released++;
    };
    sendAnswer(response.as(), large, room);
    assert.equal([response.status, held, released], [200, 100_000, 0]);
    response.emit("close");
    assert.is(released, 1);
    const left = new Response();
    left.destroyed = true;
    sendAnswer(left.as(), large, room);
    assert.equal(
      [left.status, released],
      [0, 2],
      "a client that has left gets nothing, and no close follows",
    );
  });

  test("without capacity it is 429", () => {
    const response = new Response();
    sendAnswer(response.as(), large, () => null);
    assert.is(response.status, 429);
    assert.match(response.body, /not read/);
  });

  test("a batch whose answer has no capacity is refused before anything of it is kept", async () => {
    const asked: number[] = [];
    const request = {
      headers: {},
      body: async () => ({ bytes: Buffer.from("{}\n".repeat(1000)), release: () => undefined }),
      takeAnswerRoom: (bytes: number) => {
        asked.push(bytes);
        return null;
      },
      client: {
        takeNow: () => {
          throw new Error("it was taken");
        },
      },
    };
    assert.is((await takeBatch(request as unknown as DeviceRequest))?.status, 429);
    assert.equal(asked, [128_000]);
  });

  test("a poll whose client has left takes no message, and waits for none", async () => {
    const response = new Response();
    response.destroyed = true;
    const touched = () => {
      throw new Error("it asked for a message");
    };
    const client = { heard: touched, link: { first: touched, wait: touched } };
    assert.is(await firstMessage({ client, response } as unknown as DeviceRequest, 50), null);
  });
});

worldSuite("HTTP, long names", (test, world) => {
  test("an answer does not grow with the names that it lists", async () => {
    const device = await makeDevice(world, await makeProduct(world, { cloudProtocol: 5 }));
    for (const length of [1000, 25_000]) {
      const names = Array.from({ length: 20 }, () => `m ${"k".repeat(length)}=x`).join("\n");
      const reply = await asDevice(world.http, device, "POST", "/api/v2/write", names);
      assert.is(reply.status, 400);
      assert.ok(reply.text.length < 5000, `${reply.text.length} characters`);
    }
  });
});
