/** What a dashboard is made of, as the API has it (DashboardDocument of the reference). */

interface Layout {
  /** Columns of twelve, and rows. */
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

interface Common {
  readonly id: string;
  readonly title: string;
  readonly layout: Layout;
  readonly phone?: { readonly order: number; readonly h: number };
}

export interface Series {
  /** A string id, or `$` and the name of a variable of type device or group. */
  readonly deviceID: string;
  readonly dataPointIntID?: number;
  readonly metricIntID?: number;
  readonly label?: string;
  readonly color?: number;
  readonly axis?: "left" | "right";
}

export const units = ["real", "minute", "hour", "day", "week", "month", "year"] as const;
type Unit = (typeof units)[number];
export const fills = ["zero", "previous", "linear", "none"] as const;

export interface SeriesPanel extends Common {
  readonly type: "chart" | "value" | "table";
  readonly series: readonly Series[];
  readonly unit: Unit;
  readonly fill?: (typeof fills)[number];
  readonly compare?: string;
  readonly limits?: boolean;
}

export interface MapPanel extends Common {
  readonly type: "map";
  readonly deviceIDs?: readonly string[];
  readonly groupID?: string;
  readonly productID?: string;
}

export interface AlertsPanel extends Common {
  readonly type: "alerts";
  readonly filters: {
    readonly state: "current" | "history";
    readonly alertSeverity?: number;
    readonly alertName?: string;
    readonly deviceID?: string;
    readonly productID?: string;
  };
}

export interface CommandPanel extends Common {
  readonly type: "command";
  readonly deviceID?: string;
  readonly groupID?: string;
  readonly topic?: string;
  readonly payload: string;
  readonly confirm: boolean;
  readonly label: string;
}

export interface TextPanel extends Common {
  readonly type: "text";
  readonly markdown: string;
}

export type Panel = SeriesPanel | MapPanel | AlertsPanel | CommandPanel | TextPanel;

export const variableTypes = ["device", "group", "product", "text", "timezone"] as const;

export interface Variable {
  readonly name: string;
  readonly label: string;
  readonly type: (typeof variableTypes)[number];
  readonly value: string;
}

export interface DashboardDocument {
  readonly variables: readonly Variable[];
  readonly range: { readonly start: string; readonly end: string };
  /** IANA, `browser` or `deployment`. */
  readonly timezone: string;
  /** 0: only where there is news of its devices. */
  readonly refreshSeconds: number;
  readonly panels: readonly Panel[];
}

export interface Dashboard {
  readonly id: number;
  readonly name: string;
  readonly description: string | null;
  readonly version: number;
  readonly document: DashboardDocument;
}

export const emptyDocument: DashboardDocument = {
  variables: [],
  range: { start: "-24h", end: "now" },
  timezone: "deployment",
  refreshSeconds: 30,
  panels: [],
};

export const isSeriesPanel = (panel: Panel): panel is SeriesPanel =>
  panel.type === "chart" || panel.type === "value" || panel.type === "table";

/** What a panel of a type begins with; places are found by the layout. */
export function newPanel(type: Panel["type"], id: string, layout: Layout): Panel {
  const common = { id, title: "", layout };
  switch (type) {
    case "chart":
    case "value":
    case "table":
      return { ...common, type, series: [], unit: "real" };
    case "map":
      return { ...common, type };
    case "alerts":
      return { ...common, type, filters: { state: "current" } };
    case "command":
      return { ...common, type, deviceID: "", payload: "{}", confirm: true, label: "" };
    case "text":
      return { ...common, type, markdown: "" };
  }
}

/** Columns and rows that a new panel of a type takes. */
export const sizes: Readonly<Record<Panel["type"], readonly [w: number, h: number]>> = {
  chart: [6, 7],
  value: [3, 4],
  table: [6, 7],
  map: [6, 9],
  alerts: [6, 6],
  command: [3, 3],
  text: [4, 4],
};

/** A name that no panel has. */
export function freePanelID(panels: readonly Panel[]): string {
  const taken = new Set(panels.map(({ id }) => id));
  for (let n = panels.length + 1; ; n++) if (!taken.has(`panel-${n}`)) return `panel-${n}`;
}
