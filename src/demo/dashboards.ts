/** Two dashboards as documents: the year of weather, and a fleet that lives. */
import type { Client } from "./client.js";
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
  client: Client,
  name: string,
  document: DashboardDocument,
): Promise<number> {
  const { id } = await client.post<{ id: number }>("/api/v1/dashboards", { name, document });
  return id;
}

export function weatherDashboard({ deviceID, metrics }: Station): DashboardDocument {
  const of = (metric: string, label = metric): Series => ({
    deviceID,
    metricIntID: metrics.get(metric),
    label,
  });
  const extremes = [of("max °C"), of("mean °C"), of("min °C")];
  return {
    variables: [],
    range: { start: "2010-01-01T00:00:00Z", end: "2011-01-01T00:00:00Z" },
    timezone: "America/Los_Angeles",
    refreshSeconds: 0,
    panels: [
      {
        ...panel("text", "about", "", at(0, 0, 3, 5)),
        markdown:
          "**Seattle, 2010**\n\nHourly normals, sent as 8,759 messages at QoS 1. Drag over a chart to see a part of the year closer.",
      },
      overTime("value", "mean", "Mean of the year", at(3, 0, 3, 5), "year", [of("mean °C")]),
      overTime("value", "coldest", "Coldest hour", at(6, 0, 3, 5), "year", [of("min °C")]),
      overTime("value", "windiest", "Strongest wind", at(9, 0, 3, 5), "year", [of("max wind m/s")]),
      overTime("chart", "days", "Temperature by day", at(0, 5, 12, 9), "day", extremes),
      overTime("chart", "heating", "Heating degree days by week", at(0, 14, 6, 8), "week", [
        of("heating °C·d"),
      ]),
      overTime("chart", "wind", "Strongest wind by day", at(6, 14, 6, 8), "day", [of("max wind m/s")]),
      overTime("table", "months", "Months", at(0, 22, 7, 10), "month", [...extremes, of("hours")]),
      {
        ...panel("alerts", "alerts", "Cold and still", at(7, 22, 5, 10)),
        filters: { state: "history", deviceID },
      },
    ],
  };
}

const chartsOf = 4;

/** Of products of the weather mast, the cold store and the pump station, in this order. */
export function fleetDashboard(
  products: readonly FleetProduct[],
  devices: readonly FleetDevice[],
): DashboardDocument {
  const [masts, stores, pumps] = products as [FleetProduct, FleetProduct, FleetProduct];
  const of = ({ kind }: FleetProduct) => devices.filter(({ prefix }) => prefix === kind.prefix);
  const series = (product: FleetProduct, point: string): Series[] =>
    of(product)
      .slice(0, chartsOf)
      .map(({ deviceID }) => ({ deviceID, dataPointIntID: product.points.get(point), label: deviceID }));
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
      overTime(
        "value",
        "store",
        "Cold store",
        at(0, 0, 3, 4),
        "real",
        series(stores, "temperature").slice(0, 1),
      ),
      overTime("value", "wind", "Wind", at(3, 0, 3, 4), "real", series(masts, "wind").slice(0, 1)),
      overTime("value", "flow", "Flow", at(6, 0, 3, 4), "real", [chosen("flow")]),
      {
        ...panel("command", "more", "Send a command", at(9, 0, 3, 4)),
        deviceID: "$pump",
        payload: '{"target": 60}',
        confirm: true,
        label: "Pump 60 m³/h",
      },
      {
        ...overTime("chart", "stores", "Cold stores", at(0, 4, 8, 8), "real", series(stores, "temperature")),
        limits: true,
      },
      {
        ...panel("alerts", "alerts", "Alerts now", at(8, 4, 4, 8)),
        filters: { state: "current" },
      },
      overTime("chart", "winds", "Wind", at(0, 12, 6, 8), "real", series(masts, "wind")),
      overTime("chart", "pump", "Flow and pressure of the pump", at(6, 12, 6, 8), "real", [
        chosen("flow", { axis: "left" }),
        chosen("pressure", { axis: "right" }),
      ]),
      { ...panel("map", "map", "Weather masts", at(0, 20, 6, 9)), productID: masts.productID },
      overTime("table", "minutes", "Weather masts", at(6, 20, 6, 9), "real", series(masts, "temperature")),
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
