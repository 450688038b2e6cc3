import { both, empty, holding, is, json, page, some } from "../form.js";
import { type Given, type Line, lines } from "../line.js";

/** Dashboards, their versions and their shares. */

const any = holding({});

function line(says: string, call: string, status: number, more: Partial<Line> = {}): Line {
  return { says, in: "AB", call, status, answer: any, ...more };
}

const rows = (call: string, given: readonly Given[]): Line =>
  line("a page", `GET ${call}?_limit=5`, 200, {
    given,
    answer: both(page(json), holding({ items: some(json) })),
  });

const document = {
  variables: [{ name: "house", label: "House", type: "device", value: "{device.deviceID}" }],
  range: { start: "-24h", end: "now" },
  timezone: "deployment",
  refreshSeconds: 30,
  panels: [
    {
      id: "climate",
      type: "chart",
      title: "Climate",
      layout: { x: 0, y: 0, w: 8, h: 6 },
      series: [
        { deviceID: "$house", dataPointIntID: "{point.id}", color: 0 },
        { deviceID: "$house", dataPointIntID: "{humidity.id}", color: 1, axis: "right" },
      ],
      unit: "real",
      limits: true,
    },
    {
      id: "note",
      type: "text",
      title: "",
      layout: { x: 8, y: 0, w: 4, h: 6 },
      phone: { order: 0, h: 2 },
      markdown: "Vents open above **26 °C**.",
    },
  ],
};
const dashboard = { name: "greenhouse {unique}", description: "what the night shift watches", document };
const made: Given = { as: "dashboard", call: "POST /dashboards", body: dashboard };

const share = {
  name: "the hall's screen",
  allowedOrigins: ["https://intranet.example.com"],
  expiresAt: "2099-01-01 00:00:00",
};
const madeShare: Given = { as: "share", call: "POST /dashboards/{dashboard.id}/shares", body: share };
const shown = { given: [made, madeShare], headers: { Authorization: "Share {share.token}" } };

export const dashboardLines = lines("Beyond the interface", [
  line("make a dashboard", "POST /dashboards", 201, { body: dashboard, answer: holding({ version: is(1) }) }),
  rows("/dashboards", [made]),
  line("one dashboard", "GET /dashboards/{dashboard.id}", 200, { given: [made] }),
  line("edit a dashboard", "PUT /dashboards/{dashboard.id}", 200, {
    given: [made],
    body: { version: 1, document: { ...document, refreshSeconds: 60 } },
    answer: holding({ version: is(2) }),
  }),
  line("edit a version that is not the present one", "PUT /dashboards/{dashboard.id}", 409, {
    given: [made],
    body: { version: 7, description: null },
    answer: holding({ errorCode: is("VERSION_CONFLICT") }),
  }),
  rows("/dashboards/{dashboard.id}/revisions", [made]),
  line("one version", "GET /dashboards/{dashboard.id}/revisions/1", 200, { given: [made] }),
  line("share a dashboard", "POST /dashboards/{dashboard.id}/shares", 201, { given: [made], body: share }),
  rows("/dashboards/{dashboard.id}/shares", [made, madeShare]),
  line("edit a share", "PUT /dashboards/{dashboard.id}/shares/{share.id}", 200, {
    given: [made, madeShare],
    body: { enable: 0 },
    answer: holding({ enable: is(0) }),
  }),
  line("what a share shows", "GET /shared", 200, shown),
  line("what a panel of it shows", "GET /shared/panels/climate/data?maxPoints=100", 200, shown),
  line("revoke shares", "DELETE /dashboards/{dashboard.id}/shares?ids={share.id}", 204, {
    given: [made, madeShare],
    answer: empty,
  }),
  line("delete dashboards", "DELETE /dashboards?ids={dashboard.id}", 204, { given: [made], answer: empty }),
]);
