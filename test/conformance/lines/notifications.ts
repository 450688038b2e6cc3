import { both, empty, holding, is, json, page, some } from "../form.js";
import { type Given, type Line, lines } from "../line.js";

/** Notifications of alerts: contact points, routes, silences and the log. */

const any = holding({});

function line(says: string, call: string, status: number, more: Partial<Line> = {}): Line {
  return { says, in: "AB", call, status, answer: any, ...more };
}

const rows = (call: string, given: readonly Given[]): Line =>
  line("a page", `GET ${call}?_limit=5`, 200, {
    given,
    answer: both(page(json), holding({ items: some(json) })),
  });

const contact = {
  name: "on call {unique}",
  type: "webhook",
  language: "en",
  settings: {
    url: "https://hooks.example.com/T024BE91L/B8E",
    secret: "whsec_dGhpcyBpcyBhIHNlY3JldCBvZiAyNCBi",
  },
};
const siren = {
  name: "siren {unique}",
  type: "mqtt",
  settings: { deviceIntID: "{device.id}", topic: "orders" },
  bodyTemplate: "{{ status }}",
};
const route = {
  name: "boilers {unique}",
  contactPoints: ["{contact.id}"],
  severities: [1, 2],
  productIntID: "{product.id}",
  groupBy: ["alertName", "product"],
  wait: 30,
  muteWindows: [{ days: [6, 7], from: "22:00", to: "06:00" }],
  timezone: "Asia/Shanghai",
};
const silence = {
  deviceIntID: "{device.id}",
  startTime: "2099-01-01 22:00:00",
  endTime: "2099-01-02 06:00:00",
  comment: "repair",
};

const madeContact: Given = { as: "contact", call: "POST /contact_points", body: contact };
const madeSiren: Given = { as: "siren", call: "POST /contact_points", body: siren };
const madeRoute: Given = { as: "route", call: "POST /alert_routes", body: route };
const madeSilence: Given = { as: "silence", call: "POST /silences", body: silence };
const tested: Given = { as: "tested", call: "POST /contact_points/{siren.id}/test" };

export const notificationLines = lines("Beyond the interface", [
  line("make a contact point", "POST /contact_points", 201, { body: contact }),
  rows("/contact_points", [madeContact]),
  line("one contact point", "GET /contact_points/{contact.id}", 200, { given: [madeContact] }),
  line("edit a contact point", "PUT /contact_points/{contact.id}", 200, {
    given: [madeContact],
    body: { language: "zh", subjectTemplate: "{{ alerts[0].alertName }}" },
  }),
  line("test a contact point", "POST /contact_points/{siren.id}/test", 200, {
    given: [madeSiren],
    answer: holding({ delivered: is(false) }),
  }),
  line("preview of a message", "POST /contact_points/preview", 200, {
    body: { type: "email", language: "en", bodyTemplate: "{{ firing }} firing: {{ alerts[0].deviceName }}" },
  }),
  line("delete contact points", "DELETE /contact_points?ids={contact.id}", 204, {
    given: [madeContact],
    answer: empty,
  }),
  line("make an alert route", "POST /alert_routes", 201, { given: [madeContact], body: route }),
  rows("/alert_routes", [madeContact, madeRoute]),
  line("one alert route", "GET /alert_routes/{route.id}", 200, { given: [madeContact, madeRoute] }),
  line("edit an alert route", "PUT /alert_routes/{route.id}", 200, {
    given: [madeContact, madeRoute],
    body: { repeatInterval: 3600, sendResolved: 0 },
  }),
  line("delete alert routes", "DELETE /alert_routes?ids={route.id}", 204, {
    given: [madeContact, madeRoute],
    answer: empty,
  }),
  line("make a silence", "POST /silences", 201, { body: silence }),
  rows("/silences", [madeSilence]),
  line("one silence", "GET /silences/{silence.id}", 200, { given: [madeSilence] }),
  line("edit a silence", "PUT /silences/{silence.id}", 200, {
    given: [madeSilence],
    body: { comment: "done sooner", endTime: "2099-01-02 04:00:00" },
  }),
  line("delete silences", "DELETE /silences?ids={silence.id}", 204, { given: [madeSilence], answer: empty }),
  rows("/notifications", [madeSiren, tested]),
  line("one notification", "GET /notifications/{tested.id}", 200, { given: [madeSiren, tested] }),
]);
