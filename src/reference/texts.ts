import type { ErrorCode } from "../http/errors.js";

export const introduction = `IoT device management and telemetry: products, devices, what they report, and what is sent to them.

**Variants.** One set of records, two views. Variant A is the product-model shape, Variant B the earlier, simpler one. The deployment has one of them (\`API_VARIANT\`); the header \`Api-Variant: A\` or \`B\` asks for the other, and every answer says which it is. Where the two differ, bodies and answers below are a choice of both.

**Ids.** An id in a path or in \`ids\` is a record id (integer), or else the string id of the record.

**Lists.** \`_page\` from 1, \`_limit\` up to 1,000, newest first. A page ends at a whole record by 8,000,000 bytes and then has \`Truncated: true\`: ask again with a smaller \`_limit\` for what it left out. \`<field>=\` is equality, \`<field>_like=\` contains, whatever the case, up to 256 characters. An empty value is no filter; unknown parameters are ignored; a known one that is given twice is 400.

**Values.** Timestamps are \`YYYY-MM-DD HH:MM:SS\` in the deployment's time zone; \`updateAt\` is null until the first edit; a field without a value is null. Integers and floats of a body may come as numeric text. Fields ending in \`Label\` are display texts. The headers \`Time-Format: ms\` and \`Label-Language: en\` write both differently.

**Edits.** An absent field keeps its value, null clears it; labels and read-only fields may be sent back as read.

**Deletes.** \`ids\` holds one id, or several separated by commas: all of them or none.

**Errors.** A method that a path does not take is 405 \`METHOD_NOT_ALLOWED\` with \`Allow\`; a path that is none is 404 \`DATA_NOT_FOUND\`, naming \`url\`. What cannot be read as a request is answered before its path is looked at: 400 \`BAD_REQUEST\`, 408 \`REQUEST_TIMEOUT\`, 413 \`PAYLOAD_TOO_LARGE\`, 417 \`EXPECTATION_FAILED\`, 431 \`HEADERS_TOO_LARGE\` or 501 \`NOT_IMPLEMENTED\`. All bodies are \`Error\`.`;

export const tagTexts: Readonly<Record<string, string>> = {
  Service: "Health, the clock, metrics, this reference.",
  Callers: "Logging in, users, API keys, tenants, and who changed what.",
  Products: "Group devices that speak one protocol and report the same data points.",
  Devices: "What is connected, or hangs below a gateway or another device.",
  Gateways: "Devices that carry other devices.",
  Groups: "Devices of one product that take one command together.",
  "Sent by devices": "Messages of devices over HTTP, and what waits for them.",
  "Data points": "What the devices of a product report and accept.",
  "Data streams": "A topic of a product, tied to an ordered set of data points.",
  Metrics: "Formulas and aggregates over a data point.",
  Data: "Points, formula values and aggregates on calendar windows.",
  Logs: "Uplink messages, downlink messages, connections.",
  Dashboards: "Panels of charts, maps, alerts and commands, with their earlier versions, shared by token.",
  Alerts: "Current ones, those of the past, and the rules that raise them.",
  Notifications: "Who is told of alerts, by which way, how often, and what came of it.",
  Policies: "Which topics a device may publish and subscribe to.",
  Brokers: "What a broker of your own asks before it lets a device in.",
  Certificates: "Key pairs for devices that log in by certificate.",
  Subscriptions: "Topics that a device is subscribed to by the service.",
  Commands: "Down to one device or a group, now or on a schedule.",
  Schedules: "Commands that go out later, or again and again.",
  "Product resources": "Fields of a device that follow one of its data points.",
  "App templates": "Controls of a product, with their live values for a device.",
  "Selection helpers": "Labels and values for forms.",
  Tasks: "What goes on in the background, and its files.",
};

/** One clause for each code. */
export const errorText: Readonly<Record<ErrorCode, string>> = {
  BAD_REQUEST: "the body cannot be read, or is no JSON object",
  PARAMETER_INVALID: "`errors` says what is wrong with which field or parameter",
  DATA_EXISTED: "another record has the name, id or number already",
  REFERENCED_ERROR: "other records refer to the record",
  AUTH_FAILED: "missing or wrong credentials",
  LOGIN_REQUIRED: "the session has expired",
  PERMISSION_DENIED: "the caller's role may not do this",
  RESOURCE_LIMITED: "there are as many as there may be",
  DATA_NOT_FOUND: "there is no such record",
  METHOD_NOT_ALLOWED: "the path does not take the method",
  NOT_ACCEPTABLE: "the answer has another type than `Accept` names",
  REQUEST_TIMEOUT: "the request did not come in time",
  VERSION_CONFLICT: "the record has another version by now; `errors` says which",
  IN_PROGRESS: "something of the kind is going on already, one at a time",
  PAYLOAD_TOO_LARGE: "the body is too large",
  UNSUPPORTED_MEDIA_TYPE: "the body has another type than documented",
  NOT_IMPLEMENTED: "`Transfer-Encoding` may be `chunked` only",
  EXPECTATION_FAILED: "`Expect` may be `100-continue` only",
  FORMAT_INVALID: "the content has the wrong shape",
  TOO_MANY_REQUESTS:
    "too many failed attempts, or too much that was asked for and is not read; try again after `Retry-After` seconds",
  HEADERS_TOO_LARGE: "the address and headers of the request are larger than 64 KiB",
  INTERNAL_ERROR: "the service failed; its log has the `X-Request-Id`",
  BAD_GATEWAY: "another server, which this answer comes from, does not give it",
  SERVICE_UNAVAILABLE: "not now; try again after `Retry-After` seconds",
  GATEWAY_TIMEOUT: "another server, which this answer comes from, has not given it in time",
};
