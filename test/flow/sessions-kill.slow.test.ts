import { connectPacket, publishPacket, type RawClient, rawClient, rawConnected } from "../ingest/support.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { createPublisher } from "./publisher.js";
import { createReceiver } from "./receiver.js";
import { nothingSetAside, payloadsOf, provision, startService } from "./support.js";

const rounds = 5;
const loadMs = { least: 300, most: 900 } as const;

const numbersOf = (texts: readonly string[]): number[] =>
  texts.map((text) => (JSON.parse(text) as { n: number }).n);

suite("sessions through kill -9", (test) => {
  for (const qos of [1, 2] as const) {
    test(
      `QoS ${qos}: ${rounds} kills, and what was acknowledged reaches the subscriber${qos === 2 ? " exactly once, in order" : ""}`,
      async () => {
        await withTempDir(async (dir) => {
          let service = await startService(dir);
          const [device] = (await provision(service, 1)) as [Rec];
          const receiver = createReceiver(device, "data", qos);
          const publisher = createPublisher({
            device,
            qos,
            clientID: "publisher",
            mostInFlight: 5,
            pauseMs: 5,
            payload: (n) => JSON.stringify({ n }),
          });
          let receiving = receiver.run(service.mqtt);
          await until(() => receiver.present.length === 1, { what: "the receiver" });
          await new Promise((resolve) => setTimeout(resolve, 100));
          for (let round = 0; round < rounds; round++) {
            const running = publisher.run(service.mqtt).catch(() => undefined);
            await new Promise((resolve) => setTimeout(resolve, loadMs.least));
            // Away for a part of each round: what comes then is queued.
            if (round % 2 === 1) await receiver.cut();
            const restMs = Math.random() * (loadMs.most - loadMs.least);
            await new Promise((resolve) => setTimeout(resolve, restMs));
            await service.kill();
            await Promise.all([running, receiving]);
            service = await startService(dir);
            await nothingSetAside(service);
            receiving = receiver.run(service.mqtt);
          }
          void publisher.run(service.mqtt);
          await new Promise((resolve) => setTimeout(resolve, 300));
          await publisher.stop();
          const all = Array.from({ length: publisher.sent }, (_, n) => n);
          await until(() => new Set(receiver.taken).size === all.length, { what: "the queued messages" });
          assert.ok(all.length > 50, `only ${all.length}`);
          assert.equal([...new Set(receiver.present.slice(1))], [true]);
          const numbers = numbersOf(receiver.taken);
          if (qos === 2) assert.equal(numbers, all);
          else
            assert.equal(
              [...new Set(numbers)].sort((a, b) => a - b),
              all,
            );
          await receiver.cut();
          await service.stop();
        });
      },
      { timeoutMs: 600_000 },
    );
  }

  test("what is unsettled at both sides: queued, half acknowledged, retained, wills", async () => {
    await withTempDir(async (dir) => {
      let service = await startService(dir);
      const [device, lost] = (await provision(service, 2)) as [Rec, Rec];
      const subscribe = async (client: RawClient, topic: string, qos: 1 | 2) => {
        client.send({ cmd: "subscribe", messageId: 9, subscriptions: [{ topic, qos }] } as never);
        await client.next("suback");
      };
      const reader = await rawConnected(service.mqtt, device, { clientId: "reader", clean: false });
      await subscribe(reader, "q/#", 2);
      const writer = await rawConnected(service.mqtt, device, { clientId: "writer" });
      const retained = { ...publishPacket("kept", { topic: "r", qos: 1, messageId: 5 }), retain: true };
      writer.send(
        publishPacket("one", { topic: "q/1", qos: 2, messageId: 1 }),
        publishPacket("two", { topic: "q/2", qos: 1, messageId: 2 }),
        publishPacket("three", { topic: "q/3", qos: 2, messageId: 3 }),
        retained as never,
      );
      await writer.many("puback", 2);
      const got = (await reader.many("publish", 3)) as { messageId: number; topic: string }[];
      assert.equal(
        got.map(({ topic }) => topic),
        ["q/1", "q/2", "q/3"],
      );
      // The first is half through: PUBREL has come, PUBCOMP is never sent. The third is not answered.
      reader.send(
        { cmd: "pubrec", messageId: got[0]?.messageId } as never,
        { cmd: "puback", messageId: got[1]?.messageId } as never,
      );
      await reader.next("pubrel");
      const dying = await rawClient(service.mqtt);
      dying.send({
        ...connectPacket(lost, { clientId: "dying" }),
        will: { topic: "gone", payload: Buffer.from("dead"), qos: 1, retain: true },
      } as never);
      await dying.next("connack");
      await new Promise((resolve) => setTimeout(resolve, 200));
      await service.kill();

      service = await startService(dir);
      const again = await rawClient(service.mqtt);
      again.send(connectPacket(device, { clientId: "reader", clean: false }));
      assert.ok((await again.next("connack")).sessionPresent);
      const rel = await again.next("pubrel");
      assert.is(rel.messageId, got[0]?.messageId);
      const third = await again.next("publish");
      assert.equal([third.topic, third.messageId, third.dup, third.qos], ["q/3", got[2]?.messageId, true, 2]);
      again.send({ cmd: "pubcomp", messageId: rel.messageId } as never);
      // Two messages of the writer were never released: their ids are still taken, and taken once.
      const after = await rawConnected(service.mqtt, device, { clientId: "after" });
      await subscribe(after, "#", 1);
      const kept = await after.next("publish");
      assert.equal([kept.topic, String(kept.payload), kept.retain], ["r", "kept", true]);
      assert.equal(await payloadsOf(service, lost), ["dead"], "the will is an event of its device");
      const heir = await rawConnected(service.mqtt, lost, { clientId: "heir" });
      await subscribe(heir, "gone", 1);
      assert.is(String((await heir.next("publish")).payload), "dead");
      assert.is(again.packets.filter(({ cmd }) => cmd === "publish").length, 1, "nothing else comes again");
      await Promise.all([again, after, heir].map((client) => client.cut()));
      await service.stop();
    });
  });
});
