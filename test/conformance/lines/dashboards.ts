import { both, empty, holding, is, json, page, some } from "../form.js";
import { type Given, type Line, lines } from "../line.js";

/** Dashboards and their versions. */

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
  line("delete dashboards", "DELETE /dashboards?ids={dashboard.id}", 204, { given: [made], answer: empty }),
]);
