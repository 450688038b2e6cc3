import { brokerAddresses } from "../../src/views/broker-info.js";
import { assert, suite } from "../suite.js";
import { hasKeys, refused, worldSuite } from "../world.js";

const names = ["mqtt", "mqtts", "mqttss", "coap", "coaps", "coapss", "ws", "wss"];
const keys = names.map((name) => `${name}Broker`);
const path = "/api/v1/broker_info";

worldSuite("broker info", (test, world) => {
  test("every listener that is on has its host and port, also for viewers", async () => {
    const { record } = await world.call("GET", path, undefined, { key: await world.keyOf("viewer") });
    hasKeys(record, keys);
    assert.is(record.mqttBroker, world.mqtt.replace("mqtt://", ""));
    for (const key of keys.slice(1)) assert.is(record[key], null, key);
    refused(await world.call("GET", path, undefined, { key: null }), "AUTH_FAILED", "token");
  });
});

worldSuite(
  "broker info of a public host",
  (test, world) => {
    test("devices receive the public name, and null for what is off", async () => {
      assert.is((await world.call("GET", path)).record.mqttBroker, null);
    });
  },
  { PUBLIC_HOST: "iot.example.org", MQTT_PORT: "off" },
);

suite("broker addresses", (test) => {
  test("an IPv6 address stands in brackets, once", () => {
    const addressOf = (host: string) => brokerAddresses({ host, ports: { mqtt: 1883 } }).mqttBroker;
    assert.is(addressOf("::1"), "[::1]:1883");
    assert.is(addressOf("[2001:db8::1]"), "[2001:db8::1]:1883");
    assert.is(addressOf("iot.example.org"), "iot.example.org:1883");
  });

  test("each listener has its own port", () => {
    const ports = Object.fromEntries(names.map((name, i) => [name, 1000 + i]));
    const expected = Object.fromEntries(keys.map((key, i) => [key, `host:${1000 + i}`]));
    assert.equal(brokerAddresses({ host: "host", ports }), expected);
  });
});
