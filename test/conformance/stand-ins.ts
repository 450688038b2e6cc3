/** Stands in for what differs from run to run: times, generated ids and secrets. */

const stamp = "2026-11-21 10:00:00";
const iso = "2026-11-21T10:00:00.000Z";
const uuid = "3f0c1c9e-54b0-4c7a-9d0e-0d4d1f6a2b11";
const pem = (kind: string) => `-----BEGIN ${kind}-----\n…\n-----END ${kind}-----\n`;

/** By field, whatever the value is; only where it is a text. */
const byField: Readonly<Record<string, string>> = {
  tenantID: "Cq8LZ0aT7",
  CN: "Cq8LZ0aT7:7hq2v0d3k5m8p1r4t6w9z2b5c8",
  appSecret: "Jx0…",
  IP: "192.0.2.7",
  clientIP: "192.0.2.7",
  statusUrl: "/task_status/0123456789abcdef0123456789abcdef",
  taskID: "0123456789abcdef0123456789abcdef",
  commit: "4f6c0b7d2a91e83c5d0f1a2b3c4d5e6f70819203",
  cert: pem("CERTIFICATE"),
  key: pem("PRIVATE KEY"),
  root: pem("CERTIFICATE"),
  mqttBroker: "iot.example.com:1883",
  mqttsBroker: "iot.example.com:8883",
  mqttssBroker: "iot.example.com:8884",
  coapBroker: "iot.example.com:5683",
  coapsBroker: "iot.example.com:5684",
  coapssBroker: "iot.example.com:5685",
  wsBroker: "ws://iot.example.com:8083/mqtt",
  wssBroker: "wss://iot.example.com:8084/mqtt",
};

const generated: Readonly<Record<string, string>> = { productID: "k3Xb9Q", groupID: "w7Hn2c" };

/** Long rows of numbers and of names are shown by their last. */
const shown = (all: readonly unknown[]): readonly unknown[] =>
  all.length > 100 && all.every((one) => typeof one !== "object") ? all.slice(-4) : all;

/** In a request, replaces only the values that it has from an earlier answer. */
export function standIns(value: unknown, isRequest: boolean, field = ""): unknown {
  if (Array.isArray(value)) return shown(value).map((one) => standIns(one, isRequest, field));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, standIns(one, isRequest, name)]),
    );
  }
  if (typeof value === "string") return ofText(value, isRequest, field);
  if (typeof value === "number" && value > 1e12) return Date.parse(iso);
  return value;
}

function ofText(value: string, isRequest: boolean, field: string): string {
  const own = byField[field];
  if (own !== undefined && value !== "") return own;
  if (generated[field] !== undefined && /^[0-9A-Za-z]{6}$/.test(value)) return generated[field];
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value)) return uuid;
  // A session's token, a link's token.
  if (field === "token" && /^[\w-]{20,}$/.test(value) && !isRequest) return "Jx0…";
  if (field === "path" && value.startsWith("/console/shared/")) return "/console/shared/dGhl…#Jx0…";
  if (field === "password" && !isRequest) return "Jx0…";
  if (isRequest && !/(At|msgTime)$/.test(field)) return value;
  if (/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(value) && field !== "crontabTime") return stamp;
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? iso : value;
}
