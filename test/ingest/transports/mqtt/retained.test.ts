/** Retained messages, MQTT 3.1.1 and 5.0 §3.3.1.3. */
import { makeDevice, makeProduct } from "../../../factories.js";
import { assert } from "../../../suite.js";
import { ack, type Client, connected, type Of, publish, subscribed } from "./raw-client.js";
import { mqttSuite } from "./versions.js";

mqttSuite("MQTT, retained messages", ({ each, five }, world) => {
  const told = ({ topic, payload, qos, retain }: Of<"publish">): string =>
    `${topic} ${payload} ${qos}${retain ? " retained" : ""}`;
  const got = async (client: Client): Promise<string[]> => (await client.all("publish")).map(told).sort();

  each(
    "a retained message goes to each new subscription that covers it, with RETAIN 1",
    async (device, version) => {
      const sender = await connected(world, device, version);
      for (const [i, topic] of ["a/0", "a/1", "a/2", "b"].entries()) {
        await publish(sender, topic, { qos: 2, retain: true, payload: topic, messageId: i + 1 });
      }
      const reader = await connected(world, device, version, { clientId: "reader" });
      await subscribed(reader, ["a/#"], { qos: 1 });
      await subscribed(reader, ["b"], { qos: 0, messageId: 2 });
      assert.equal(await got(reader), [
        "a/0 a/0 1 retained",
        "a/1 a/1 1 retained",
        "a/2 a/2 1 retained",
        "b b 0 retained",
      ]);
      await publish(sender, "a/0", { retain: true, payload: "live" });
      assert.equal(
        (await got(reader)).filter((one) => one.includes("live")),
        ["a/0 live 1"],
      );
      for (const one of [sender, reader]) await one.leave();
    },
  );

  each("a newer one replaces it, at QoS 0 too; without RETAIN nothing changes", async (device, version) => {
    const sender = await connected(world, device, version);
    const readers = 3;
    const seen: string[][] = [];
    for (let i = 0; i < readers; i++) {
      if (i === 0) await publish(sender, "a", { qos: 1, retain: true, payload: "old" });
      if (i === 1) {
        sender.send({ cmd: "publish", topic: "a", payload: "new", qos: 0, retain: true, dup: false });
        await publish(sender, "a", { payload: "live" });
      }
      if (i === 2) await publish(sender, "c", { payload: "never retained" });
      const reader = await connected(world, device, version, { clientId: `reader ${i}` });
      await subscribed(reader, ["#"], { qos: 0 });
      seen.push(await got(reader));
      await reader.leave();
    }
    assert.equal(seen, [["a old 0 retained"], ["a new 0 retained"], ["a new 0 retained"]]);
    await sender.leave();
  });

  each(
    "one without a payload removes it, is delivered as any other, and is not kept",
    async (device, version) => {
      const sender = await connected(world, device, version);
      const reader = await connected(world, device, version, { clientId: "reader" });
      await publish(sender, "a", { retain: true, payload: "old" });
      await subscribed(reader, ["a"], { qos: 1 });
      await publish(sender, "a", { retain: true, payload: "", messageId: 2 });
      await publish(sender, "b", { retain: true, payload: "", messageId: 3 });
      assert.equal(await got(reader), ["a  1", "a old 1 retained"]);
      const late = await connected(world, device, version, { clientId: "late" });
      await subscribed(late, ["#"]);
      assert.equal(await got(late), []);
      for (const one of [sender, reader, late]) await one.leave();
    },
  );

  each("it outlives the session that published it, and goes to no other device", async (device, version) => {
    const sender = await connected(world, device, version);
    await publish(sender, "a", { retain: true, payload: "still" });
    await sender.leave();
    const stranger = await makeDevice(world, await makeProduct(world));
    const spy = await connected(world, stranger, version);
    await subscribed(spy, ["#"]);
    assert.equal(await got(spy), []);
    const reader = await connected(world, device, version);
    await subscribed(reader, ["a"], { qos: 0 });
    assert.equal(await got(reader), ["a still 0 retained"]);
    for (const one of [spy, reader]) await one.leave();
  });

  each("subscribing again sends it again", async (device, version) => {
    const client = await connected(world, device, version);
    await publish(client, "a", { retain: true });
    for (let messageId = 1; messageId <= 3; messageId++)
      await subscribed(client, ["a"], { qos: 0, messageId });
    assert.equal(await got(client), Array(3).fill("a m 0 retained"));
    await client.leave();
  });

  five("Retain Handling: at each SUBSCRIBE, at a new subscription, never", async (device) => {
    const client = await connected(world, device, 5);
    for (const [i, topic] of ["r0", "r1", "r2"].entries()) {
      await publish(client, topic, { retain: true, messageId: i + 1 });
    }
    for (let round = 0; round < 2; round++) {
      for (let rh = 0; rh <= 2; rh++) await subscribed(client, [`r${rh}`], { qos: 0, rh, messageId: 9 });
    }
    assert.equal(await got(client), ["r0 m 0 retained", "r0 m 0 retained", "r1 m 0 retained"]);
    client.send({ cmd: "unsubscribe", messageId: 9, unsubscriptions: ["r1"] });
    await client.next("unsuback");
    await subscribed(client, ["r1"], { qos: 0, rh: 1, messageId: 9 });
    assert.is((await got(client)).length, 4);
    await client.leave();
  });

  five("it comes with its properties and the subscription's identifier, and expires", async (device) => {
    const client = await connected(world, device, 5);
    const properties = { contentType: "text/plain", userProperties: { b: "1", a: "2" }, responseTopic: "r" };
    await publish(client, "a/kept", {
      retain: true,
      properties: { ...properties, messageExpiryInterval: 100 },
    });
    await publish(client, "a/short", { retain: true, properties: { messageExpiryInterval: 1 } });
    await new Promise((resolve) => setTimeout(resolve, 2200));
    await subscribed(client, ["a/#"], { qos: 1, identifier: 5 });
    const all = await client.all("publish");
    assert.is(all.length, 1);
    const { messageExpiryInterval, userProperties, ...rest } = all[0]?.properties ?? {};
    assert.ok(
      Number(messageExpiryInterval) > 90 && Number(messageExpiryInterval) < 100,
      `${messageExpiryInterval}`,
    );
    assert.equal(rest, { contentType: "text/plain", responseTopic: "r", subscriptionIdentifier: 5 });
    assert.equal(Object.entries(userProperties ?? {}), [
      ["b", "1"],
      ["a", "2"],
    ]);
    client.send(ack("puback", all[0]?.messageId ?? 0));
    await client.leave();
  });

  five("No Local and Retain As Published leave what a subscription begins with alone", async (device) => {
    const client = await connected(world, device, 5);
    await publish(client, "a", { retain: true });
    await subscribed(client, ["a"], { qos: 0, rap: false });
    assert.equal(await got(client), ["a m 0 retained"]);
    await client.leave();
  });
});
