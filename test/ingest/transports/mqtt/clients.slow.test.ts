/** Clients that others have written: MQTT.js, paho and mosquitto's, in every version that they speak. */
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { connectAsync, type IClientOptions, type MqttClient } from "mqtt";
import { makeDevice, makeProduct } from "../../../factories.js";
import { modulesMissing, programMissing } from "../../../programs.js";
import { repositoryRoot } from "../../../repository.js";
import { assert, until } from "../../../suite.js";
import { type Rec, worldSuite } from "../../../world.js";
import { eventsOf } from "../../support.js";

/** The compiled test stands below dist; the sources beside package.json. */
const paho = join(repositoryRoot(), "test/ingest/transports/mqtt/paho_client.py");
/** A python3 that has paho-mqtt 2. */
const python = process.env.PYTHON_WITH_PEERS ?? "python3";
const inCi = process.env.CI === "true";

const runs = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0;
const hasPaho = inCi || runs(python, "-c", "from paho.mqtt.client import CallbackAPIVersion");
const noMosquitto = inCi ? null : programMissing("mosquitto_pub");

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

function run(command: string, args: readonly string[]): Promise<Ended> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}

worldSuite("MQTT, clients of others", (test, world) => {
  let device: Rec;
  test.before.each(async () => {
    device = await makeDevice(world, await makeProduct(world));
  });

  const open = (options: IClientOptions): Promise<MqttClient> =>
    connectAsync(world.mqtt, {
      username: String(device.deviceUsername),
      password: String(device.token),
      reconnectPeriod: 0,
      ...options,
    });

  for (const [name, options] of [
    ["3.1", { protocolVersion: 3, protocolId: "MQIsdp" }],
    ["3.1.1", { protocolVersion: 4 }],
    ["5", { protocolVersion: 5, properties: { topicAliasMaximum: 10 }, autoUseTopicAlias: true }],
  ] as const satisfies readonly (readonly [string, IClientOptions])[]) {
    test(`MQTT.js ${name}: every QoS both ways`, async () => {
      const reader = await open({ ...options, clientId: "reader" });
      const sender = await open({ ...options, clientId: "sender" });
      const got: string[] = [];
      reader.on("message", (topic, payload, packet) => got.push(`${topic} ${payload} ${packet.qos}`));
      await reader.subscribeAsync("a/#", { qos: 2 });
      for (let round = 0; round < 3; round++) {
        for (const qos of [0, 1, 2] as const)
          await sender.publishAsync(`a/topic/${qos}`, `${round}`, { qos });
      }
      await until(() => got.length === 9, { what: "nine messages" });
      const expected = [0, 1, 2].flatMap((round) => [0, 1, 2].map((qos) => `a/topic/${qos} ${round} ${qos}`));
      assert.equal(got, expected);
      await reader.unsubscribeAsync("a/#");
      for (const client of [reader, sender]) await client.endAsync();
      assert.is((await eventsOf(world, device)).length, 9);
    });
  }

  test("MQTT.js 5: request and response", async () => {
    const asking = await open({ protocolVersion: 5, clientId: "asking" });
    const answering = await open({ protocolVersion: 5, clientId: "answering" });
    await answering.subscribeAsync("requests");
    answering.on("message", (_, payload, { properties }) => {
      const { responseTopic = "", correlationData } = properties ?? {};
      void answering.publishAsync(responseTopic, `answer to ${payload}`, {
        qos: 1,
        properties: { ...(correlationData === undefined ? {} : { correlationData }) },
      });
    });
    const answer = new Promise<unknown[]>((resolve) =>
      asking.on("message", (topic, payload, { properties }) =>
        resolve([topic, `${payload}`, properties?.correlationData?.toString()]),
      ),
    );
    await asking.subscribeAsync("responses/asking");
    const properties = { responseTopic: "responses/asking", correlationData: Buffer.from("one") };
    await asking.publishAsync("requests", "what", { qos: 1, properties });
    assert.equal(await answer, ["responses/asking", "answer to what", "one"]);
    for (const client of [asking, answering]) await client.endAsync();
  });

  async function speakPaho(): Promise<void> {
    const { hostname, port } = new URL(world.mqtt);
    for (const version of ["3", "4", "5"]) {
      const { deviceUsername, token } = device;
      const { code, output } = await run(python, [
        paho,
        hostname,
        port,
        version,
        String(deviceUsername),
        String(token),
      ]);
      assert.is(code, 0, output);
      const { granted, messages } = JSON.parse(output) as { granted: number[]; messages: object[] };
      assert.equal(granted, [2]);
      const more = {
        pairs: [
          ["b", "1"],
          ["a", "2"],
          ["b", "3"],
        ],
        contentType: "text/plain",
        identifiers: [42],
      };
      assert.equal(
        messages,
        [0, 1, 2].map((qos) => ({
          topic: `paho/${qos}`,
          payload: `payload ${qos}`,
          qos,
          retain: false,
          ...(version === "5" ? more : {}),
        })),
      );
    }
    assert.is((await eventsOf(world, device)).length, 9);
  }

  const pahoName = "paho speaks 3.1, 3.1.1 and 5 with us";
  if (hasPaho) test("paho speaks 3.1, 3.1.1 and 5 with us", speakPaho);
  else test.skip(pahoName, modulesMissing("paho-mqtt"));

  async function speakMosquitto(): Promise<void> {
    const { hostname, port } = new URL(world.mqtt);
    const { deviceUsername, token } = device;
    for (const version of ["mqttv31", "mqttv311", "mqttv5"]) {
      const common = [
        "-h",
        hostname,
        "-p",
        port,
        "-u",
        String(deviceUsername),
        "-P",
        String(token),
        "-V",
        version,
      ];
      const waiting = run("mosquitto_sub", [...common, "-t", "m/+", "-q", "2", "-C", "3", "-W", "10", "-v"]);
      await until(async () => (await subscriptionsOf()) > 0, { what: "the subscription" });
      for (const qos of ["0", "1", "2"]) {
        const extra = version === "mqttv5" ? ["-D", "publish", "user-property", "a", "b"] : [];
        const { code, output } = await run("mosquitto_pub", [
          ...common,
          "-t",
          `m/${qos}`,
          "-m",
          "hello",
          "-q",
          qos,
          ...extra,
        ]);
        assert.is(code, 0, output);
      }
      assert.equal(await waiting, { code: 0, output: "m/0 hello\nm/1 hello\nm/2 hello\n" }, version);
    }
    assert.is((await eventsOf(world, device)).length, 9);
  }

  /** Connections are all that can be seen from outside; SUBSCRIBE follows in the same breath. */
  async function subscriptionsOf(): Promise<number> {
    const { text } = await world.call("GET", "/metrics");
    const connections = Number(/^tidemark_connections (\d+)$/m.exec(text)?.[1] ?? 0);
    if (connections > 0) await new Promise((resolve) => setTimeout(resolve, 200));
    return connections;
  }

  if (noMosquitto === null) test("mosquitto's clients speak 3.1, 3.1.1 and 5 with us", speakMosquitto);
  else test.skip("mosquitto's clients speak 3.1, 3.1.1 and 5 with us", noMosquitto);
});
