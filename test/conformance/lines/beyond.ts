import { array, both, empty, type Form, holding, is, json, matching, page, some, text } from "../form.js";
import { type Given, type Line, lines } from "../line.js";
import { accepted } from "../records.js";

/** What the service has beyond the interface: that it answers, as the reference says. */

function line(says: string, call: string, status: number, answer: Form, more: Partial<Line> = {}): Line {
  return { says, in: "AB", call, status, answer, ...more };
}

const any = holding({});
const rows = (call: string): Line =>
  line("a page", `GET ${call}?_limit=5`, 200, both(page(json), holding({ items: some(json) })));

const user = { username: "user-{unique}", password: "correct horse battery", role: "operator" };
const madeUser: Given = { as: "user", call: "POST /users", body: user };
const session: Given = {
  as: "session",
  call: "POST /login",
  body: { username: "{user.username}", password: user.password },
  headers: { Authorization: "" },
};
const madeKey: Given = { as: "key", call: "POST /api_keys", body: { name: "grafana", role: "viewer" } };
const rule = {
  alertName: "hot {unique}",
  alertContent: "warmer than 40 °C for a minute",
  alertSeverity: 2,
  productID: "{product.productID}",
  dataPointIntID: "{point.id}",
  condition: "dataPoint > 40",
  duration: 60,
};
const madeRule: Given = { as: "rule", call: "POST /alert_rules", body: rule };
const madeCert: Given = { as: "own", call: "POST /certs", body: { name: "cert-{unique}", enable: 1 } };
const certified: Given = {
  as: "bound",
  call: "POST /devices/{device.id}/certs",
  body: { ids: ["{cert.id}"] },
};
/** A message by HTTP leaves an inbox behind. */
const heard: Given = {
  as: "heard",
  call: "POST /uplinks/state",
  body: { t: 21.5 },
  headers: { Authorization: "Token {device.deviceUsername}:{device.token}" },
};
const located: readonly Given[] = [
  {
    as: "place",
    call: "POST /data_points",
    body: {
      productIntID: "{product.id}",
      dataPointID: "place-{unique}",
      dataPointName: "place {unique}",
      pointDataType: 6,
      dataTransType: 1,
      isLocationType: 1,
    },
  },
  {
    as: "imported",
    call: "POST /original_data",
    headers: { "Content-Type": "text/csv" },
    body: 'deviceID,dataPointID,time,value\n{device.deviceID},{place.dataPointID},2026-01-02T03:04:05Z,"[8.54,47.37]"\n',
  },
];

export const beyondLines = lines("Beyond the interface", [
  line("alive", "GET //healthz", 200, any),
  line("ready", "GET //readyz", 200, any),
  line("the clock", "GET /time", 200, any),
  line("the first page of a console", "GET /overview", 200, any),
  line("points of all kept messages again", "POST /resettle", 200, any, {
    body: { startTime: "2026-01-01 00:00:00" },
  }),

  line("keep files in place for a backup", "POST /backup_hold", 200, any, { body: { seconds: 0 } }),

  line("log in", "POST /login", 201, holding({ role: is("operator") }), {
    given: [madeUser],
    body: { username: "{user.username}", password: user.password },
    headers: { Authorization: "" },
  }),
  line("who calls", "GET /me", 200, any),
  line("change one's own password", "PUT /me/password", 204, empty, {
    given: [madeUser, session],
    body: { password: user.password, newPassword: "battery staple", revokeApiKeys: true },
    headers: { Authorization: "Bearer {session.token}" },
  }),
  rows("/users"),
  line("make a user", "POST /users", 201, any, { body: user }),
  line("one user", "GET /users/{user.id}", 200, any, { given: [madeUser] }),
  line("edit a user", "PUT /users/{user.id}", 200, any, { given: [madeUser], body: { role: "viewer" } }),
  line("tenants", "GET /tenants", 200, array(json)),
  line("make a tenant", "POST /tenants", 201, any, {
    body: { tenantName: "east-{unique}", username: "admin-of-east-{unique}" },
  }),
  line("make an API key", "POST /api_keys", 201, any, { body: madeKey.body }),
  rows("/api_keys"),
  line("one API key", "GET /api_keys/{key.id}", 200, any, { given: [madeKey] }),
  rows("/changes"),

  ...Object.entries({
    product: { description: "glass houses" },
    device: { description: "by the door", serialNumber: "SN-0001" },
    gateway: { mac: "00:1B:44:11:3A:B7" },
    group: { description: "east wing" },
    policy: { description: "all topics" },
  }).map(([name, body]) =>
    line(`edit of a ${name}`, `PUT /${name === "policy" ? "policies" : `${name}s`}/{${name}.id}`, 200, any, {
      body,
    }),
  ),
  line("edit of a data point", "PUT /data_points/{point.id}", 200, any, { body: { unitName: "kelvin" } }),
  line("edit of a metric", "PUT /metrics/{formula.id}", 200, any, { body: { remark: "for the console" } }),
  line("a metric before it is saved", "POST /metrics_data/preview", 200, some(json), {
    body: {
      dataPointIntID: "{point.id}",
      expressions: "dataPoint * 1.8 + 32",
      deviceID: "{device.deviceID}",
      startTime: "2026-01-01 00:00:00",
      maxPoints: 500,
    },
  }),
  line("edit a stream", "PUT /data_streams/{stream.id}", 200, any, { body: { detail: "indoors" } }),
  line("data points of a stream", "GET /data_streams/{stream.id}/data_points", 200, page(json)),
  line("one app template", "GET /app_templates/{template.id}", 200, any),
  line("edit an app template", "PUT /app_templates/{template.id}", 200, any, {
    body: { templateName: "ceiling lamp", places: [2, 1] },
  }),

  line("import points", "POST /original_data", 202, accepted, {
    headers: { "Content-Type": "text/csv" },
    body: "deviceID,dataPointID,time,value\n{device.deviceID},t,2026-01-02T03:04:05Z,21.5\n",
  }),
  line("decode again", "POST /devices/{device.id}/redecode", 202, accepted, {
    body: { startTime: "2026-01-01 00:00:00", endTime: null },
  }),
  line("tasks", "GET /tasks?_limit=1&kind=redecode", 200, both(page(json), holding({ items: some(json) })), {
    given: [
      {
        as: "begun",
        call: "POST /devices/{device.id}/redecode",
        body: { startTime: "2026-01-01 00:00:00", endTime: null },
      },
    ],
  }),
  line(
    "sessions",
    "GET /devices/{device.id}/sessions",
    200,
    both(page(json), holding({ items: some(json) })),
    {
      given: [heard],
    },
  ),
  line("end a session", "DELETE /devices/{device.id}/sessions?clientIDs=http", 204, empty, {
    given: [heard],
  }),
  line("what becomes of a message", "POST /devices/{device.id}/explain", 200, holding({ points: json }), {
    body: { topic: "data", payload: '{"temperature": 21.5}' },
  }),
  line("what decoding again would bring", "POST /devices/{device.id}/redecode", 202, accepted, {
    body: { startTime: "2026-01-01 00:00:00", dryRun: true },
  }),
  line("what was taken and refused", "GET /devices/{device.id}/ingest_status", 200, any),
  line("newest values below a gateway", "GET /gateways/{gateway.id}/devices_data", 200, json),

  line("edit a certificate", "PUT /certs/{own.id}", 200, any, { given: [madeCert], body: { enable: 0 } }),
  line("bind certificates", "POST /devices/{device.id}/certs", 201, empty, {
    given: [madeCert],
    body: { ids: ["{own.id}"] },
  }),
  line("certificates of a device", "GET /devices/{device.id}/certs", 200, page(json), { given: [certified] }),
  line("devices of a certificate", "GET /certs/{cert.id}/devices", 200, page(json), { given: [certified] }),
  line(
    "devices for a certificate",
    "GET /platform_select/certs/{cert.id}/not_joined_devices",
    200,
    page(json),
  ),
  line("certificates for a device", "GET /platform_select/devices/{lonely.id}/not_joined_certs", 200, json),

  ...["groups/{group.id}", "products/{product.id}"].flatMap((owner) => [
    line("subscribe all", `POST /${owner}/subscriptions`, 201, any, {
      body: { topic: "news/{unique}", qos: 1 },
    }),
    line("subscriptions of all", `GET /${owner}/subscriptions`, 200, page(json)),
  ]),
  line("time zones", "GET /timezones", 200, holding({ source: is("built-in"), items: some(text) })),
  line(
    "when the clocks of a time zone change",
    "GET /timezones/Asia%2FKathmandu",
    200,
    holding({ name: is("Asia/Kathmandu"), offset: is(20_476) }),
  ),
  line("every schedule", "GET /schedule_publish", 200, page(json), {
    given: [
      {
        as: "schedule",
        call: "POST /device_schedule_publish",
        body: {
          deviceID: "{device.deviceID}",
          payload: "on",
          scheduleName: "s-{unique}",
          scheduleType: 1,
          IntervalMinute: 60,
        },
      },
    ],
  }),

  line("may connect", "POST /broker/auth", 200, holding({ result: is("allow") }), {
    body: {
      username: "{device.deviceUsername}",
      password: "{device.token}",
      clientid: "gh-1",
      peerhost: "192.0.2.7",
    },
  }),
  line("may publish", "POST /broker/acl", 200, holding({ result: matching(/^(allow|deny)$/) }), {
    body: {
      username: "{device.deviceUsername}",
      action: "publish",
      topic: "devices/{device.deviceID}/up/climate",
    },
  }),

  line("one current alert", "GET /current_alerts/{open.first}", 200, any, {
    given: [{ as: "open", call: "GET /current_alerts" }],
  }),
  line("make an alert rule", "POST /alert_rules", 201, any, { body: rule }),
  line("when a rule would have raised its alert", "POST /alert_rules/preview", 200, any, {
    body: {
      dataPointIntID: "{point.id}",
      condition: "dataPoint > 20",
      duration: 0,
      deviceID: "{device.deviceID}",
      startTime: "2026-01-01 00:00:00",
    },
  }),
  line("alert rules", "GET /alert_rules", 200, page(json), { given: [madeRule] }),
  line("one alert rule", "GET /alert_rules/{rule.id}", 200, any, { given: [madeRule] }),
  line("edit an alert rule", "PUT /alert_rules/{rule.id}", 200, any, {
    given: [madeRule],
    body: { duration: 120 },
  }),

  ...["data_points", "data_streams", "metric_data_points"].map((name) =>
    line(
      `${name} to choose from`,
      `GET /platform_select/${name}?productID={product.productID}`,
      200,
      some(json),
    ),
  ),
  line("where a device stands", "PUT /devices/{device.id}/location", 200, any, {
    body: { longitude: 8.54, latitude: 47.37, location: "row 1" },
  }),
  {
    ...line("where a gateway stands", "PUT /devices/{gateway.id}/location", 200, any),
    body: { longitude: 8.54, latitude: 47.37 },
  },
  line("a tile of a map, where there is no tile server", "GET /map_tiles/0/0/0", 404, any),
  line("where a device was", "GET /device_track?deviceID={device.deviceID}", 200, json, { given: located }),
  line(
    "where devices are",
    "GET /device_places?bbox=121,31,122,32&zoom=9",
    200,
    holding({ isTruncated: is(false) }),
    {
      given: [
        {
          as: "moved",
          call: "PUT /devices/{lonely.id}/location",
          body: { longitude: 121.5, latitude: 31.2 },
        },
      ],
    },
  ),
]);
