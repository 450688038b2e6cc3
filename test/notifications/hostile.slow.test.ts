/** Other sides that mean harm: an attempt ends, uses bounded memory, and closes its connection. */
import type { Socket } from "node:net";
import { createAddressGuard } from "../../src/contact-points/addresses.js";
import { createEmailSend } from "../../src/contact-points/email.js";
import { createMqttSend } from "../../src/contact-points/mqtt.js";
import type { SendToContactPoint } from "../../src/contact-points/sending.js";
import { createWebhookSend } from "../../src/contact-points/webhook.js";
import { sampleMessage } from "../../src/notifications/alert-message.js";
import { sendMessage } from "../../src/notifications/send-message.js";
import { createTemplateRenderer } from "../../src/notifications/templates.js";
import { assert, suite, until } from "../suite.js";
import { openSilent } from "./receivers.js";
import { contactPoint, delivering } from "./senders.js";

const guard = createAddressGuard(["127.0.0.1"]);
const senders = {
  webhook: createWebhookSend(guard, Date.now),
  email: createEmailSend(guard, null),
  mqtt: createMqttSend(guard, async () => {
    throw new Error("no device");
  }),
};
const outgoing = { subject: "s", body: "hello", id: "1" };

const pointOf = {
  webhook: (port: number) =>
    contactPoint({
      settings: { contentType: "text/plain" },
      secrets: { url: `http://127.0.0.1:${port}/` },
    }),
  email: (port: number) =>
    contactPoint({
      settings: {
        to: ["a@b.c"],
        from: null,
        server: { host: "127.0.0.1", port, security: "none", username: null },
      },
    }),
  mqtt: (port: number) =>
    contactPoint({
      settings: { url: `mqtt://127.0.0.1:${port}`, topic: "t", qos: 1, username: null, clientID: null },
    }),
} as const;

/** One attempt at a server that says at once, or once it has been spoken to, what `speak` writes. */
async function meet(type: keyof typeof senders, speak: (socket: Socket) => void) {
  const open = new Set<Socket>();
  let met = 0;
  const server = await openSilent((socket) => {
    met++;
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    speak(socket);
    // Else it would not see that the other side leaves.
    socket.resume();
  });
  const abort = new AbortController();
  const send: SendToContactPoint = senders[type];
  return {
    outcome: send(pointOf[type](server.port), outgoing, abort.signal),
    abort: () => abort.abort(),
    isMet: () => met > 0,
    /** Whether the sender has closed every connection. */
    isLeft: () => met > 0 && open.size === 0,
    close: server.close,
  };
}

suite("hostile receivers", (test) => {
  test("a webhook that answers with another protocol, or closes within its answer, has answered", async () => {
    for (const [answer, expected] of [
      [
        "101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        /^101 Switching Protocols/,
      ],
      ["101 Switching Protocols\r\n\r\n", /^101 Switching Protocols|closed|hang up/],
      ["200 OK\r\nContent-Length: 10\r\n\r\nabc", /aborted|ECONNRESET|closed/],
    ] as const) {
      const one = await meet("webhook", (socket) => {
        socket.once("data", () => {
          socket.write(`HTTP/1.1 ${answer}`);
          if (!answer.includes("Upgrade")) socket.end();
        });
      });
      const { isDelivered, answer: told } = await one.outcome;
      assert.is(isDelivered, false);
      assert.match(told, expected);
      await until(one.isLeft, { what: "the connection to end" });
      await one.close();
    }
  });

  test("one that never ends its answer is left when the time is over, whatever it speaks", async () => {
    const slowly = (first: string, next: string) => (socket: Socket) => {
      socket.write(first);
      const timer = setInterval(() => socket.write(next), 20);
      socket.on("close", () => clearInterval(timer));
    };
    const cases = [
      ["webhook", slowly("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n")],
      ["webhook", slowly("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n")],
      ["email", slowly("220 hi\r\n", "2")],
      ["email", slowly("220 hi\r\n250-", "2")],
      ["mqtt", slowly("", "\u0030")],
      ["mqtt", () => undefined],
    ] as const;
    for (const [type, speak] of cases) {
      const one = await meet(type, speak);
      await until(one.isMet, { what: `a connection by ${type}` });
      one.abort();
      await one.outcome.catch(() => undefined);
      await until(one.isLeft, { what: `the connection by ${type} to end` });
      await one.close();
    }
  });

  test("a broker that floods is left after 64 KiB", async () => {
    const chunk = Buffer.alloc(16_384, 0x61);
    const gathered = process.memoryUsage().arrayBuffers;
    let told = 0;
    let peak = 0;
    const one = await meet("mqtt", (socket) => {
      // PUBLISH of 268,435,455 bytes (MQTT 3.1.1, 2.2.3).
      socket.once("data", () => {
        socket.write(Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f, 0, 1]));
        const more = (): void => {
          peak = Math.max(peak, process.memoryUsage().arrayBuffers - gathered);
          if (socket.destroyed || told > 2 ** 28) return;
          told += chunk.length;
          socket.write(chunk, more);
        };
        more();
      });
    });
    const { isDelivered, isTransient, answer } = await one.outcome;
    assert.equal([isDelivered, isTransient, answer], [false, true, "the broker sends more than 65536 bytes"]);
    await until(one.isLeft, { what: "the connection to end" });
    // Bytes that the system buffers between both sides were sent, but not read.
    assert.ok(told < 32 * 2 ** 20, `${told}`);
    assert.ok(peak < 16 * 2 ** 20, `${peak}`);
    await one.close();
  });

  test("a sender that never comes back is given up after 15 seconds, or when the service ends", async () => {
    const renderer = createTemplateRenderer();
    const message = sampleMessage("alert", "UTC", 1_800_000_000_000);
    const stuck = delivering(() => new Promise(() => undefined));
    const ending = new AbortController();
    const send = (signal: AbortSignal) =>
      sendMessage(renderer, stuck.senders, contactPoint(), { message, id: "1" }, signal);
    const stopped = send(ending.signal);
    const late = send(new AbortController().signal);
    await until(() => stuck.messages.length === 2, { what: "both attempts" });
    ending.abort();
    assert.equal(await stopped, { isDelivered: false, answer: "the service was stopped", isTransient: true });
    assert.equal(await late, {
      isDelivered: false,
      answer: "no answer within 15 seconds",
      isTransient: true,
    });
    await renderer.close();
  });
});
