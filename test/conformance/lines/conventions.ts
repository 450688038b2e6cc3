import { both, error, type Form, holding, int, is, page, pageOf, record, some, text } from "../form.js";
import { type Line, lines } from "../line.js";
import { device, deviceB, taskStatus } from "../records.js";

const broken = { call: "POST /products", body: '{"productName":' };
const lists = [
  ...["devices", "gateways", "products", "groups", "policies", "certs", "current_alerts", "history_alerts"],
  ...["device_connect_logs", "device_events", "device_control_logs"],
  ...["data_points", "data_streams", "metrics", "product_resources", "app_templates"],
];

function fails(says: string, call: string, status: number, answer: Form, more: Partial<Line> = {}): Line {
  return { says, in: "AB", call, status, answer, ...more };
}

export const conventionLines = lines("Conventions", [
  ...lists.flatMap((path): Line[] => [
    {
      says: `${path}: meta echoes page and limit`,
      in: "AB",
      call: `GET /${path}?_page=3&_limit=7`,
      status: 200,
      answer: holding({ meta: record({ count: int, limit: is(7), page: is(3) }) }),
    },
    {
      says: `${path}: meta without parameters`,
      in: "AB",
      call: `GET /${path}`,
      status: 200,
      answer: holding({ meta: record({ count: int, limit: is(10), page: is(1) }) }),
    },
    {
      says: `${path}: the record id is a filter`,
      in: "AB",
      call: `GET /${path}?id=999999`,
      status: 200,
      answer: holding({ meta: record({ count: is(0), limit: is(10), page: is(1) }) }),
    },
    fails(
      `${path}: _limit beyond 1000`,
      `GET /${path}?_limit=1001`,
      400,
      error("PARAMETER_INVALID", "_limit"),
    ),
    fails(`${path}: needs credentials`, `GET /${path}`, 401, error("AUTH_FAILED", "token"), {
      headers: { Authorization: "Bearer nobody" },
    }),
  ]),
  ...["products", "devices", "groups", "policies", "data_points", "metrics", "gateways"].map((path) =>
    fails(`${path}: delete without ids`, `DELETE /${path}`, 400, error("PARAMETER_INVALID", "ids")),
  ),
  ...["certs", "data_streams", "policies", "gateways", "groups", "products", "devices"].map((path) =>
    fails(`${path}: no such record`, `GET /${path}/999999`, 404, error("DATA_NOT_FOUND")),
  ),
  {
    says: "the header asks for Variant B in any deployment",
    in: "AB",
    call: "GET /devices?_limit=1",
    headers: { "Api-Variant": "B" },
    status: 200,
    answer: page(deviceB.listed),
  },
  {
    says: "the header asks for Variant A in any deployment",
    in: "AB",
    call: "GET /devices?_limit=1",
    headers: { "Api-Variant": "A" },
    status: 200,
    answer: page(device.listed),
  },
  {
    says: "field names are case-sensitive",
    in: "A",
    call: "POST /products",
    body: { productname: "x", cloudProtocol: 1 },
    status: 400,
    answer: error("PARAMETER_INVALID", "productName"),
  },
  {
    says: "an empty filter is none; unknown parameters are ignored",
    in: "AB",
    call: "GET /products?productName_like=&nosuch=1&_limit=1",
    status: 200,
    answer: holding({ items: some(holding({ id: int })) }),
  },
  {
    says: "% is literal in a filter",
    in: "AB",
    call: "GET /products?productName_like=%25",
    status: 200,
    answer: pageOf(0),
  },
]);

export const errorLines = lines("Errors", [
  fails("a body that is no JSON", broken.call, 400, error("BAD_REQUEST"), { body: broken.body }),
  fails("a body that is an array", "POST /products", 400, error("BAD_REQUEST"), { body: "[]" }),
  fails("a wrong field", "POST /products", 400, error("PARAMETER_INVALID", "productName"), { body: {} }),
  {
    says: "a name that is taken",
    in: "A",
    call: "POST /products",
    body: { productName: "greenhouse", cloudProtocol: 1, description: "" },
    status: 400,
    answer: error("DATA_EXISTED", "productName"),
  },
  {
    says: "a record that others refer to",
    in: "AB",
    call: "DELETE /data_points?ids={point.id}",
    status: 400,
    answer: error("REFERENCED_ERROR"),
  },
  fails("no such path", "GET /nosuch", 404, error("DATA_NOT_FOUND", "url")),
  fails("no such method", "PUT /products", 405, error("METHOD_NOT_ALLOWED")),
  fails("no such type of answer", "GET /products", 406, error("NOT_ACCEPTABLE"), {
    headers: { Accept: "image/png" },
  }),
  fails("a body of another type", "POST /products", 415, error("UNSUPPORTED_MEDIA_TYPE"), {
    body: "a=1",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
  }),
  fails("a body beyond 1 MiB", "POST /products", 413, error("PAYLOAD_TOO_LARGE"), {
    body: JSON.stringify({ productName: "x".repeat(1_100_000) }),
  }),
]);

const dictionary = [
  "cloudProtocol",
  "authType",
  "deviceStatus",
  "deviceType",
  "publishStatus",
  "alertSeverity",
];

export const serviceLines = lines("Places that the interface leaves open", [
  {
    says: "a task's status, at the path that statusUrl gives",
    in: "AB",
    given: [{ as: "task", call: "GET /devices_export" }],
    call: "GET /{task.statusUrl}",
    status: 200,
    answer: taskStatus,
  },
  {
    says: "the same below /api/v1",
    in: "AB",
    given: [{ as: "task", call: "GET /devices_export" }],
    call: "GET {task.statusUrl}",
    status: 200,
    answer: taskStatus,
  },
  fails("a task that is none", "GET //task_status/nosuch", 404, error("DATA_NOT_FOUND")),
  {
    says: "the dictionary of codes",
    in: "AB",
    call: "GET /platform_select/dict_code",
    status: 200,
    answer: holding(
      Object.fromEntries(dictionary.map((name) => [name, some(record({ label: text, value: int }))])),
    ),
  },
  {
    says: "products to choose from",
    in: "AB",
    call: "GET /platform_select/products",
    status: 200,
    answer: some(
      record({ label: text, value: text, attr: record({ cloudProtocol: int, productIntID: int }) }),
    ),
  },
  {
    says: "devices to choose from",
    in: "AB",
    call: "GET /platform_select/devices",
    status: 200,
    answer: some(record({ label: text, value: text, attr: record({ deviceIntID: int }) })),
  },
  {
    says: "addresses of the brokers",
    in: "AB",
    call: "GET /broker_info",
    status: 200,
    answer: both(holding({ mqttBroker: text }), (value, at) =>
      Object.keys(value as object).length === 8 ? [] : [`${at} has other brokers than eight`],
    ),
  },
]);
