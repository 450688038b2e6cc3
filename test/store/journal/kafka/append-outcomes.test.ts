/** What an append says of its frame, whatever the broker does with it. */
import { protocolErrors } from "@platformatic/kafka";
import { openPartition } from "../../../../store/journal/kafka/partition.js";
import { AppendError } from "../../../../store/journal/kafka/partition-log.js";
import { assert, rejects, suite, until } from "../../../suite.js";
import { type Reply, startFakeBroker } from "./fake-broker.js";

const topic = "journal";
const frame = Buffer.from("a frame");

suite("outcomes of appends", (test) => {
  async function withLog(
    reply: (append: number) => Reply,
    use: (
      log: ReturnType<typeof openPartition>,
      broker: Awaited<ReturnType<typeof startFakeBroker>>,
    ) => Promise<void>,
    { appendTimeMs = 400, versionMax = 20 } = {},
  ): Promise<void> {
    const broker = await startFakeBroker(reply, topic, versionMax);
    const brokers = [{ host: "127.0.0.1", port: broker.port }];
    const options = { brokers, topic, partition: 0, clientID: "test", frameBytesMax: 1000, callTimeMs: 400 };
    const log = openPartition({ ...options, fetchBytesMax: 1000, appendTimeMs });
    try {
      await use(log, broker);
    } finally {
      log.close();
      await broker.close();
    }
  }

  test("an error code means not written only where the broker gives it before it writes", async () => {
    const refusals = new Set(
      `CORRUPT_MESSAGE MESSAGE_TOO_LARGE INVALID_TOPIC_EXCEPTION RECORD_LIST_TOO_LARGE NOT_ENOUGH_REPLICAS
      INVALID_REQUIRED_ACKS TOPIC_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED INVALID_TIMESTAMP
      UNSUPPORTED_VERSION INVALID_REQUEST INVALID_RECORD`.split(/\s+/),
    );
    const all = Object.values(protocolErrors).filter(({ code }) => code !== 0);
    assert.ok(all.length > 120);
    let given = 0;
    await withLog(
      () => ({ code: given }),
      async (log) => {
        for (const { id, code } of all) {
          given = code;
          const error = await rejects(() => log.append(frame));
          const outcome = error instanceof AppendError ? error.outcome : error.message;
          assert.is(outcome, refusals.has(id) ? "not written" : "unknown", id);
          assert.match(error.message, id);
        }
      },
      { appendTimeMs: 200 },
    );
  });

  test("a frame whose outcome is unknown is sent once, whatever became of the connection", async () => {
    const codeUnknownToUs = { code: 999 };
    const offsetBeyondReason = { code: 0, offset: -1n };
    const replies = ["end", "silence", "flood", "noise", codeUnknownToUs, offsetBeyondReason] as const;
    for (const reply of replies) {
      await withLog(
        (append) => (append === 0 ? reply : { code: 0, offset: 7n }),
        async (log, broker) => {
          const error = await rejects(() => log.append(frame), /whether it was written is unknown$/);
          assert.is(error instanceof AppendError && error.outcome, "unknown", JSON.stringify(reply, text));
          assert.is(broker.appends, 1, JSON.stringify(reply, text));
          // Over a new connection: nothing of the old answer is left.
          assert.is(await log.append(frame), 7);
          assert.is(broker.appends, 2);
        },
      );
    }
  });

  test("too few replicas for a while are waited for", () =>
    withLog(
      (append) => (append < 2 ? { code: 19 } : { code: 0, offset: 3n }),
      async (log, broker) => {
        assert.is(await log.append(frame), 3);
        assert.is(broker.appends, 3);
      },
      { appendTimeMs: 30_000 },
    ));

  test("a connection that ended while idle costs no append", () =>
    withLog(
      (append) => ({ code: 0, offset: BigInt(append) }),
      async (log, broker) => {
        assert.is(await log.append(frame), 0);
        broker.hangUp();
        // One that is sent before the end is known has an unknown outcome.
        const taken = await until(() => log.append(frame), { what: "an append" });
        assert.is(taken, broker.appends - 1);
      },
      { appendTimeMs: 30_000 },
    ));

  test("closing ends an append under way, whose outcome is unknown", () =>
    withLog(
      () => "silence",
      async (log, broker) => {
        const ending = rejects(() => log.append(frame), /Connection closed; .* is unknown$/);
        await until(() => broker.appends === 1, { what: "the append" });
        log.close();
        await ending;
        const after = await rejects(() => log.append(frame), /was not written$/);
        assert.is(after instanceof AppendError && after.outcome, "not written");
      },
      { appendTimeMs: 30_000 },
    ));

  test("a broker that is too old is named, with what it lacks", () =>
    withLog(
      () => ({ code: 0, offset: 0n }),
      async (log, broker) => {
        const error = await rejects(() => log.append(frame));
        const lack = "it does not understand version 12 of metadata; Kafka 4.1 or later does";
        assert.match(error.message, `cannot use broker 127.0.0.1:${broker.port}: ${lack}`);
        assert.is(error instanceof AppendError && error.code, "MISMATCH");
        assert.is(broker.appends, 0);
      },
      { versionMax: 11 },
    ));
});

const text = (_: string, value: unknown) => (typeof value === "bigint" ? String(value) : value);
