import { both, empty, error, holding, int, is, page, pageOf, record, some, text } from "../form.js";
import { type Line, lines } from "../line.js";
import { cert, labelled, policy } from "../records.js";

const body = { name: "policy-{unique}", topic: "a/#", access: 0, allow: 0, description: "d" };
const own = { as: "own", call: "POST /policies", body };
const bound = {
  as: "bound",
  call: "POST /policies/{own.id}/devices",
  body: { devicesIntID: ["{device.id}"] },
};
const candidate = record({ deviceName: text, id: int, productName: text });
const codes = [
  ["access", 0, "发布"],
  ["access", 1, "订阅"],
  ["access", 2, "发布和订阅"],
  ["allow", 0, "拒绝"],
  ["allow", 1, "允许"],
] as const;

export const policyLines = lines("Policies", [
  {
    says: "page of policies",
    in: "AB",
    call: "GET /policies?_page=1&_limit=5",
    status: 200,
    answer: page(policy.listed),
  },
  {
    says: "filter name_like",
    in: "AB",
    call: "GET /policies?name_like=SPAR",
    status: 200,
    answer: pageOf(1, both(policy.listed, holding({ name: is("spare") }))),
  },
  {
    says: "create",
    in: "AB",
    call: "POST /policies",
    body,
    status: [200, 201],
    answer: both(holding(policy.stored), holding({ access: is(0), allow: is(0) })),
  },
  ...["name", "topic", "access", "allow"].map(
    (field): Line => ({
      says: `create requires ${field}`,
      in: "AB",
      call: "POST /policies",
      body: { ...body, [field]: undefined },
      status: 400,
      answer: error("PARAMETER_INVALID", field),
    }),
  ),
  {
    says: "detail, with the bound access-control entries",
    in: "AB",
    call: "GET /policies/{policy.id}",
    status: 200,
    answer: both(policy.detail, holding({ mqtt_acl: some(record({ id: int })) })),
  },
  ...codes.map(
    ([name, code, label]): Line => ({
      says: `${name} ${code} is ${label}`,
      in: "A",
      given: [{ as: "own", call: "POST /policies", body: { ...body, [name]: code } }],
      call: "GET /policies/{own.id}",
      status: 200,
      answer: labelled(name, code, label),
    }),
  ),
  {
    says: "edit takes the record as read",
    in: "AB",
    given: [own, { as: "read", call: "GET /policies/{own.id}" }],
    call: "PUT /policies/{own.id}",
    body: { "...": "{read}", name: "renamed-{unique}", allow: 1 },
    status: 200,
    answer: both(holding({ ...policy.stored, updateAt: text }), holding({ allow: is(1) })),
  },
  {
    says: "delete",
    in: "AB",
    given: [own],
    call: "DELETE /policies?ids={own.id}",
    status: 204,
    answer: empty,
  },
  {
    says: "devices of a policy",
    in: "AB",
    call: "GET /policies/{policy.id}/devices?_page=1&_limit=5",
    status: 200,
    answer: pageOf(
      1,
      record({ deviceID: is("bench-1"), deviceName: text, deviceTypeLabel: is("终端"), id: int }),
    ),
  },
  ...["deviceName_like=lonely", "productName_like=green", "_limit=5"].map(
    (filter): Line => ({
      says: `devices that a policy can still take, ${filter}`,
      in: "AB",
      call: `GET /platform_select/policies/{policy.id}/not_joined_devices?_page=1&${filter}`,
      status: 200,
      answer: page(candidate),
    }),
  ),
  {
    says: "devices that a policy can still take, groupName_like",
    in: "AB",
    call: "GET /platform_select/policies/{spare.id}/not_joined_devices?groupName_like=east",
    status: 200,
    answer: page(candidate),
  },
  {
    says: "bind devices",
    in: "AB",
    given: [own],
    call: "POST /policies/{own.id}/devices",
    body: { devicesIntID: ["{device.id}", "{lonely.id}"] },
    status: [200, 201],
    answer: empty,
  },
  {
    says: "unbind devices",
    in: "AB",
    given: [own, bound],
    call: "DELETE /policies/{own.id}/devices?ids={device.id}",
    status: 204,
    answer: empty,
  },
  {
    says: "policies of a device",
    in: "AB",
    call: "GET /devices/{device.id}/policies?_page=1&_limit=5",
    status: 200,
    answer: page(policy.listed),
  },
  {
    says: "policies that a device can still take",
    in: "AB",
    call: "GET /platform_select/devices/{lonely.id}/not_joined_policies",
    status: 200,
    answer: page(policy.listed),
  },
  {
    says: "bind policies: the page of the device's policies",
    in: "AB",
    given: [own],
    call: "POST /devices/{child.id}/policies",
    body: { ids: ["{own.id}"] },
    status: [200, 201],
    answer: page(policy.listed),
  },
  {
    says: "unbind policies",
    in: "AB",
    given: [own, bound],
    call: "DELETE /devices/{device.id}/policies?ids={own.id}",
    status: 204,
    answer: empty,
  },
]);

const certBody = { name: "cert-{unique}", enable: 0 };

export const certLines = lines("Certificates", [
  {
    says: "page of certificates",
    in: "AB",
    call: "GET /certs?_page=1&_limit=5",
    status: 200,
    answer: page(cert.listed),
  },
  {
    says: "filter name_like",
    in: "AB",
    call: "GET /certs?name_like=FIEL",
    status: 200,
    answer: pageOf(1, both(cert.listed, holding({ name: is("field"), enable: is(1) }))),
  },
  { says: "create", in: "AB", call: "POST /certs", body: certBody, status: [200, 201], answer: cert.detail },
  ...["name", "enable"].map(
    (field): Line => ({
      says: `create requires ${field}`,
      in: "AB",
      call: "POST /certs",
      body: { ...certBody, [field]: undefined },
      status: 400,
      answer: error("PARAMETER_INVALID", field),
    }),
  ),
  { says: "detail with the texts", in: "AB", call: "GET /certs/{cert.id}", status: 200, answer: cert.detail },
]);
