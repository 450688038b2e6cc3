/** Two dashboards as documents: the year of weather, and a fleet that lives. */
import type { DemoClient } from "./client.js";
import type { FleetDevice, FleetProduct } from "./fleet.js";
import type { Station } from "./station.js";

interface Layout {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

interface Series {
  readonly deviceID: string;
  readonly dataPointIntID?: number | undefined;
  readonly metricIntID?: number | undefined;
  readonly label?: string;
  readonly axis?: "left" | "right";
  /** One of the eight colours. */
  readonly color?: number;
}

type Panel = Readonly<Record<string, unknown>> & { readonly id: string; readonly layout: Layout };

interface DashboardDocument {
  readonly variables: readonly object[];
  readonly range: { readonly start: string; readonly end: string };
  readonly timezone: string;
  readonly refreshSeconds: number;
  readonly panels: readonly Panel[];
}

/** Answers the dashboard's record id. */
export async function makeDashboard(
  client: DemoClient,
  name: string,
  document: DashboardDocument,
): Promise<number> {
  const { id } = await client.post<{ id: number }>("/api/v1/dashboards", { name, document });
  return id;
}

const [blue, orange, green, purple] = [0, 1, 2, 5];

export function weatherDashboard({ deviceID, metrics }: Station): DashboardDocument {
  const of = (metric: string, color = blue): Series => ({
    deviceID,
    metricIntID: metrics.get(metric),
    label: metric,
    color,
  });
  const extremes = [of("max °C", orange), of("mean °C", green), of("min °C", blue)];
  return {
    variables: [],
    range: { start: "2010-01-01T00:00:00Z", end: "2011-01-01T00:00:00Z" },
    // As the file's times are read.
    timezone: "UTC",
    refreshSeconds: 0,
    panels: [
      {
        ...panel("text", "about", "", at(0, 0, 3, 3)),
        markdown:
          "**Seattle, 2010**\n\nHourly normals, sent as 8,759 messages at QoS 1. Drag over a chart to see a part of the year closer.",
      },
      overTime("value", "mean", "Mean of the year", at(3, 0, 3, 3), "year", [of("mean °C", green)]),
      overTime("value", "coldest", "Coldest hour", at(6, 0, 3, 3), "year", [of("min °C")]),
      overTime("value", "windiest", "Strongest wind", at(9, 0, 3, 3), "year", [of("max wind m/s")]),
      overTime("chart", "days", "Temperature by day", at(0, 3, 12, 8), "day", extremes),
      overTime("chart", "heating", "Heating degree days by week", at(0, 11, 6, 7), "week", [
        of("heating °C·d", purple),
      ]),
      overTime("chart", "wind", "Strongest wind by day", at(6, 11, 6, 7), "day", [of("max wind m/s")]),
      overTime("table", "months", "Months", at(0, 18, 7, 8), "month", [...extremes, of("hours")]),
      {
        ...panel("alerts", "alerts", "Cold and still", at(7, 18, 5, 8)),
        filters: { state: "history", deviceID },
      },
    ],
  };
}

const chartsPerDashboard = 4;

/** For the products of the weather mast, the cold store and the pump station, in this order. */
export function fleetDashboard(
  products: readonly FleetProduct[],
  devices: readonly FleetDevice[],
): DashboardDocument {
  const [masts, stores, pumps] = products as [FleetProduct, FleetProduct, FleetProduct];
  const of = ({ kind }: FleetProduct) => devices.filter(({ prefix }) => prefix === kind.prefix);
  const series = (product: FleetProduct, point: string, count = chartsPerDashboard): Series[] =>
    of(product)
      .slice(0, count)
      .map(({ deviceID }) => ({ deviceID, dataPointIntID: product.points.get(point), label: deviceID }));
  const means = of(masts)
    .slice(0, chartsPerDashboard)
    .map(({ deviceID }) => ({ deviceID, metricIntID: masts.means.get("temperature"), label: deviceID }));
  const first = (product: FleetProduct) => of(product)[0]?.deviceID ?? "";
  const chosen = (point: string, more: Partial<Series> = {}): Series => ({
    deviceID: "$pump",
    dataPointIntID: pumps.points.get(point),
    ...more,
  });
  return {
    variables: [{ name: "pump", label: "Pump", type: "device", value: first(pumps) }],
    range: { start: "-1h", end: "now" },
    timezone: "browser",
    refreshSeconds: 5,
    panels: [
      overTime("value", "store", "Cold store", at(0, 0, 3, 3), "real", series(stores, "temperature", 1)),
      overTime("value", "wind", "Wind", at(3, 0, 3, 3), "real", series(masts, "wind", 1)),
      overTime("value", "flow", "Flow", at(6, 0, 3, 3), "real", [chosen("flow")]),
      {
        ...panel("command", "more", "Send a command", at(9, 0, 3, 3)),
        deviceID: "$pump",
        payload: '{"target": 60}',
        confirm: true,
        label: "Pump 60 m³/h",
      },
      {
        ...overTime("chart", "stores", "Cold stores", at(0, 3, 7, 7), "real", series(stores, "temperature")),
        limits: true,
      },
      { ...panel("alerts", "alerts", "Alerts now", at(7, 3, 5, 7)), filters: { state: "current" } },
      overTime("chart", "winds", "Wind", at(0, 10, 6, 7), "real", series(masts, "wind")),
      overTime("chart", "pump", "Flow and pressure of the pump", at(6, 10, 6, 7), "real", [
        chosen("flow", { axis: "left", color: blue }),
        chosen("pressure", { axis: "right", color: orange }),
      ]),
      { ...panel("map", "map", "Weather masts", at(0, 17, 6, 8)), productID: masts.productID },
      overTime("table", "minutes", "Temperature by minute", at(6, 17, 6, 8), "minute", means),
    ],
  };
}

const at = (x: number, y: number, w: number, h: number): Layout => ({ x, y, w, h });

function panel(type: string, id: string, title: string, layout: Layout): Panel {
  return { type, id, title, layout };
}

function overTime(
  type: "chart" | "value" | "table",
  id: string,
  title: string,
  layout: Layout,
  unit: string,
  series: readonly Series[],
): Panel {
  return { ...panel(type, id, title, layout), series, unit };
}
