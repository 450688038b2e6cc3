/** Brokers that ask for TLS and a user, and who comes to them as they do not want. */
import { setTimeout as pause } from "node:timers/promises";
import { createBrokersReach } from "../../../../store/journal/kafka/brokers-reach.js";
import type { LinkSecurity, SaslMechanism } from "../../../../store/journal/kafka/link-security.js";
import { openPartition } from "../../../../store/journal/kafka/partition.js";
import { AppendError, type PartitionLog } from "../../../../store/journal/kafka/partition-log.js";
import { prepareTopic } from "../../../../store/journal/kafka/topic.js";
import { StoreError } from "../../../../store/lib/errors.js";
import { makeAuthority, makeCertificate } from "../../../ingest/transports/mqtt/listeners/support.js";
import { type Brokers, startBrokers } from "../../../kafka/brokers.js";
import { assert, kafkaSuite, rejects, until } from "../../../suite.js";

const authority = await makeAuthority("Brokers CA");
const user = "tidemark";
const password = "s3cretWord";
/** Long enough for an attempt on a busy machine, and over within a test. */
const sessionMs = 5000;
const frameBytesMax = 256 * 1024;
const never = new AbortController().signal;
/** A refusal that takes all of this time has been retried in vain. */
const longTimeMs = 60_000;

async function startSecureBrokers(): Promise<Brokers> {
  const { key, cert } = await makeCertificate(authority, { purpose: "server", hosts: ["127.0.0.1"] });
  return startBrokers(2, { secure: { key, cert, user, password, sessionMs } });
}

const tls = { ca: authority.cert };
const userBy = (mechanism: SaslMechanism) => ({ mechanism, user, password });
const scram = userBy("SCRAM-SHA-512");

kafkaSuite(
  "links to brokers over TLS, as a user",
  (test, cluster) => {
    const opened: PartitionLog[] = [];
    test.after.each(() => {
      for (const log of opened.splice(0)) log.close();
    });

    interface Way {
      readonly security?: LinkSecurity;
      readonly host?: string;
      /** At the port that asks for nothing. */
      readonly isPlain?: boolean;
      readonly timeMs?: number;
    }
    async function brokersBy({ host = "127.0.0.1", isPlain = false }: Way) {
      const { nodes } = await cluster();
      return nodes.map(({ port, securePort }) => ({ host, port: isPlain ? port : securePort }));
    }
    async function prepare(topic: string, way: Way): Promise<void> {
      const needs = { partitions: 1, replicas: 2, frameBytesMax, acceptsUnflushed: false };
      const { security, timeMs = longTimeMs } = way;
      const options = { ...needs, brokers: await brokersBy(way), topic, clientID: "test", timeMs, security };
      await prepareTopic(options, never);
    }
    async function open(topic: string, way: Way): Promise<PartitionLog> {
      const { security, timeMs = longTimeMs } = way;
      const place = { brokers: await brokersBy(way), topic, partition: 0, clientID: "test", security };
      const log = openPartition({ ...place, frameBytesMax, appendTimeMs: timeMs, callTimeMs: timeMs });
      opened.push(log);
      return log;
    }
    /** The error of an append and of the preparation of a topic, which is the same and comes at once. */
    async function refused(way: Way): Promise<string> {
      const [preparing, append] = await toldInTime(way);
      assert.is(append, preparing);
      return preparing;
    }
    async function toldInTime(way: Way): ReturnType<typeof toldBoth> {
      for (let attempt = 1; ; attempt++) {
        const told = await toldBoth(way);
        // The last attempt at a broker has what is left of the time, which may be less than it takes to close.
        if (attempt === attemptsMax || !told.some((one) => ranOut.test(one))) return told;
      }
    }
    async function toldBoth(way: Way): Promise<readonly [preparing: string, append: string]> {
      const begun = performance.now();
      const log = await open("nothing", way);
      const append = await rejects(() => log.append(Buffer.of(1)));
      const preparing = await rejects(() => prepare("nothing", way));
      const elapsed = performance.now() - begun;
      assert.ok(elapsed < longTimeMs / 2, `${elapsed} ms`);
      assert.is(append instanceof AppendError && append.outcome, "not written", append.message);
      const told = toldBy(preparing, preparing.message);
      const ofAppend = append.message
        .replace("cannot append a frame: ", "")
        .replace("; it was not written", "");
      assert.not.match(told, password);
      return [told, toldBy(append, ofAppend)];
    }

    test("frames come back byte for byte, whichever way the user is authenticated", async () => {
      for (const mechanism of ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"] as const) {
        const way = { security: { tls, sasl: userBy(mechanism) } };
        const topic = mechanism.toLowerCase();
        await prepare(topic, way);
        const log = await open(topic, way);
        const frames = [1, 1000, frameBytesMax, 7].map((length) => Buffer.alloc(length, length));
        for (const [n, frame] of frames.entries()) assert.is(await log.append(frame), n, mechanism);
        let next = 0;
        for await (const { offset, frame } of log.read(0, frames.length)) {
          assert.is(offset, next);
          assert.ok(frames[next++]?.equals(frame), `${mechanism}, frame ${offset}`);
        }
        assert.is(next, frames.length);
      }
    });

    test("work that lasts longer than the user's authentication is not interrupted", async () => {
      const way = { security: { tls, sasl: scram } };
      await prepare("sessions", way);
      const log = await open("sessions", way);
      const stop = new AbortController();
      let read = 0;
      const reading = (async () => {
        for await (const _ of log.read(0, Number.POSITIVE_INFINITY, stop.signal)) read++;
      })();
      const end = performance.now() + 2.5 * sessionMs;
      let appended = 0;
      // An append that meets the end of its connection fails, its outcome unknown.
      while (performance.now() < end) assert.is(await log.append(Buffer.of(1)), appended++);
      await until(() => read === appended, { what: "the last frame" });
      stop.abort();
      await reading;
      assert.is(await log.end(), appended);
    });

    test("the check whether a broker answers runs as the user too, beyond the time of its authentication", async () => {
      const reach = createBrokersReach({
        brokers: await brokersBy({}),
        clientID: "test",
        security: { tls, sasl: scram },
      });
      const end = performance.now() + 1.5 * sessionMs;
      while (performance.now() < end) {
        await reach.ask();
        await pause(500);
      }
      reach.close();
      const stranger = createBrokersReach({
        brokers: await brokersBy({}),
        clientID: "test",
        security: { tls, sasl: { ...scram, password: "another" } },
      });
      await rejects(() => stranger.ask(), /does not take user/);
      stranger.close();
    });

    test("a wrong password and an unknown user are reported as such, at once", async () => {
      const wrong = { ...scram, password: "another" };
      const told = (mechanism: string, name = user) =>
        `DENIED broker BROKER does not take user ${name} (${mechanism})`;
      assert.is(await refused({ security: { tls, sasl: wrong } }), told("SCRAM-SHA-512"));
      const plain = { ...wrong, mechanism: "PLAIN" as const };
      assert.is(await refused({ security: { tls, sasl: plain } }), told("PLAIN"));
      const stranger = { ...scram, user: "eve" };
      assert.is(await refused({ security: { tls, sasl: stranger } }), told("SCRAM-SHA-512", "eve"));
    });

    test("a user who may not use the topic is refused at once", async () => {
      const guest = { ...userBy("PLAIN"), user: "guest" };
      await prepare("scarce", { security: { tls, sasl: scram } });
      const log = await open("scarce", { security: { tls, sasl: guest } });
      for (const use of [() => log.append(Buffer.of(1)), () => log.end(), () => log.read(0, 1).next()]) {
        const error = await rejects(use, /cannot use topic scarce: TOPIC_AUTHORIZATION_FAILED/);
        assert.is(codeOf(error), "DENIED", error.message);
      }
      const preparing = await rejects(() => prepare("scarce", { security: { tls, sasl: guest } }));
      assert.match(preparing.message, /^cannot prepare topic scarce: TOPIC_AUTHORIZATION_FAILED/);
      assert.is(codeOf(preparing), "DENIED");
    });

    test("a certificate of another authority, or for another host, is refused at once", async () => {
      const other = { ca: (await makeAuthority("Other CA")).cert };
      for (const ca of [other, { ca: null }]) {
        assert.match(
          await refused({ security: { tls: ca, sasl: scram } }),
          /^MISMATCH cannot connect to broker BROKER: its certificate is refused: .*(certificate|signature)/,
        );
      }
      assert.match(
        await refused({ host: "localhost", security: { tls, sasl: scram } }),
        /^MISMATCH cannot connect to broker BROKER: its certificate is refused: Hostname\/IP does not match/,
      );
    });

    test("a client in the clear at a port of TLS, or as a user at a port for everybody, gets an error", async () => {
      const inTheClear = "MISMATCH cannot use broker BROKER: it wants TLS at this port";
      assert.is(await refused({}), inTheClear);
      assert.is(await refused({ security: { tls: null, sasl: scram } }), inTheClear);
      const asUser = { isPlain: true, security: { tls: null, sasl: scram } };
      assert.is(await refused(asUser), "MISMATCH cannot use broker BROKER: it asks for no user at this port");
    });

    test("a client with TLS at a port without, or as nobody at a port for users, gets an error in its time", async () => {
      // How the broker's end closes differs from attempt to attempt, and so does what the socket says of it.
      for (const told of await toldInTime({ isPlain: true, timeMs: 1000, security: { tls, sasl: scram } })) {
        assert.match(told, /^UNAVAILABLE cannot connect to broker BROKER: .*TLS handshake failed/);
      }
      for (const told of await toldInTime({ timeMs: 1000, security: { tls, sasl: null } })) {
        assert.match(told, /^UNAVAILABLE broker BROKER: .*; does it ask for a user at this port\?$/);
      }
    });
  },
  startSecureBrokers,
);

const attemptsMax = 5;
const ranOut = /^UNAVAILABLE broker BROKER: no answer within \d+ ms$/;
const codeOf = (error: Error): string | undefined => (error instanceof StoreError ? error.code : undefined);
const toldBy = (error: Error, text: string): string =>
  `${codeOf(error)} ${text}`.replace(/127\.0\.0\.1:\d+|localhost:\d+/, "BROKER");
