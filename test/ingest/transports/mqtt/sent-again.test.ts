/** A client that hears nothing for a while sends its message again, with DUP, on the same connection. */
import { setTimeout } from "node:timers/promises";
import { assert, until } from "../../../suite.js";
import { eventsOf } from "../../support.js";
import { type Client, connected, publishing } from "./raw-client.js";
import { mqttSuite } from "./versions.js";

const idsOf = (client: Client): number[] =>
  client.packets.flatMap((packet) => (packet.cmd === "puback" ? [packet.messageId as number] : []));
const message = (id: number, dup = false) =>
  publishing("meter", { messageId: id, payload: `{"reading":${id}}`, dup });
const payloads = async (...of: Parameters<typeof eventsOf>): Promise<unknown[]> =>
  (await eventsOf(...of)).map(({ payload }) => payload).reverse();
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

mqttSuite(
  "MQTT, sent again on one connection",
  ({ each }, world) => {
    each(
      "what our own limit delays is one event and has one PUBACK, however often it comes",
      async (device, version) => {
        const client = await connected(world, device, version);
        const ids = upTo(18);
        client.send(...ids.map((id) => message(id)));
        for (let round = 0; round < 3; round++) {
          await setTimeout(400);
          const waiting = ids.filter((id) => !idsOf(client).includes(id));
          if (round === 0) assert.ok(waiting.length > 2, "the limit delays some");
          if (waiting.length > 0) client.send(...waiting.map((id) => message(id, true)));
        }
        await until(() => idsOf(client).length >= ids.length, { what: "every PUBACK" });
        await client.all("puback");
        assert.equal(idsOf(client), ids);
        assert.equal(
          await payloads(world, device),
          ids.map((id) => `{"reading":${id}}`),
        );
        client.send(publishing("meter", { messageId: 1, payload: "new" }));
        await until(() => idsOf(client).length > ids.length, { what: "the PUBACK of a new message" });
        assert.is((await eventsOf(world, device)).length, ids.length + 1);
        await client.leave();
      },
    );

    each("another payload under the id is another message", async (device, version) => {
      const client = await connected(world, device, version);
      client.send(...upTo(12).map((id) => message(id)));
      client.send(publishing("meter", { messageId: 12, payload: "other", dup: true }));
      client.send(publishing("other", { messageId: 12, payload: '{"reading":12}', dup: true }));
      await until(() => idsOf(client).length === 14, { what: "every PUBACK" });
      assert.equal(idsOf(client), [...upTo(12), 12, 12]);
      assert.is((await eventsOf(world, device)).length, 14);
      await client.leave();
    });
  },
  { DEVICE_MESSAGES_PER_SECOND: "5" },
);
