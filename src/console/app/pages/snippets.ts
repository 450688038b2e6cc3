/** A first message, in the language or tool in which the user writes the device. */

interface Credentials {
  readonly username: string;
  readonly token: string;
  /** `host:port`; null: the listener is off. */
  readonly mqttBroker: string | null;
  /** The origin of the service. */
  readonly http: string;
}

interface Snippet {
  readonly name: string;
  readonly text: string;
}

const topic = "telemetry";
const message = '{"temp": 21.5}';
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function snippets({ username, token, mqttBroker, http }: Credentials): readonly Snippet[] {
  const curl = {
    name: "curl",
    text: `curl -i -u ${quoted(`${username}:${token}`)} ${http}/api/v1/uplinks/${topic} \\\n  -H 'Content-Type: application/json' -d ${quoted(message)}`,
  };
  if (mqttBroker === null) return [curl];
  const colon = mqttBroker.lastIndexOf(":");
  const [host, port] = [mqttBroker.slice(0, colon), mqttBroker.slice(colon + 1)];
  return [
    {
      name: "mosquitto_pub",
      text: `mosquitto_pub -h ${host} -p ${port} -u ${quoted(username)} -P ${quoted(token)} -q 1 \\\n  -t ${topic} -m ${quoted(message)}`,
    },
    {
      name: "MQTT.js",
      text: `npx mqtt pub -h ${host} -p ${port} -u ${quoted(username)} -P ${quoted(token)} -q 1 \\\n  -t ${topic} -m ${quoted(message)}`,
    },
    {
      name: "Python (paho-mqtt)",
      text: [
        "import paho.mqtt.client as mqtt",
        "client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)",
        `client.username_pw_set(${JSON.stringify(username)}, ${JSON.stringify(token)})`,
        `client.connect(${JSON.stringify(host)}, ${port})`,
        "client.loop_start()",
        `client.publish(${JSON.stringify(topic)}, ${JSON.stringify(message)}, qos=1).wait_for_publish()`,
      ].join("\n"),
    },
    {
      name: "Arduino, ESP32 (PubSubClient)",
      text: [
        "#include <WiFi.h>",
        "#include <PubSubClient.h>",
        "WiFiClient net;",
        "PubSubClient client(net);",
        "void setup() {",
        '  WiFi.begin("network", "password");',
        "  while (WiFi.status() != WL_CONNECTED) delay(100);",
        `  client.setServer(${JSON.stringify(host)}, ${port});`,
        `  client.connect("esp32", ${JSON.stringify(username)}, ${JSON.stringify(token)});`,
        `  client.publish(${JSON.stringify(topic)}, ${JSON.stringify(message)});`,
        "}",
        "void loop() { client.loop(); }",
      ].join("\n"),
    },
    curl,
  ];
}
