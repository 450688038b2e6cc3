/** Where the panels of a dashboard get what they show: the API as somebody who is logged in, or what a share answers. */

import type { Mark } from "../charts/decorations.js";
import type { Places } from "../map/places.js";
import type { AlertsPanel, MapPanel, SeriesPanel } from "./document.js";

/** Milliseconds since 1970. */
export interface Asked {
  readonly from: number;
  readonly to: number;
  readonly zone: string;
  /** How many points of each series: those that keep its line, or the newest. */
  readonly size: { readonly maxPoints: number } | { readonly limit: number };
}

interface Columns<Value> {
  readonly time: readonly number[];
  readonly value: readonly Value[];
}

interface Owner {
  /** Where several devices were asked for. */
  readonly deviceID?: string;
}

/** One item of GET /original_data. */
export interface RawItem extends Owner {
  readonly dataPointIntID: number;
  readonly dataPointName: string;
  readonly originalData: Columns<unknown>;
}

/** One item of GET /metrics_data. */
export interface MetricItem extends Owner {
  readonly id: number;
  readonly metricName: string;
  readonly metricData: Columns<number | null>;
}

export type Item = RawItem | MetricItem;

export interface PointFacts {
  readonly dataPointName: string;
  readonly unitSymbol: string | null;
  readonly lowerLimit: number | null;
  readonly upperLimit: number | null;
}

export interface SeriesAnswer {
  /** By series of the panel. */
  readonly series: readonly (readonly Item[])[];
  readonly points: readonly (PointFacts | null)[];
}

export interface AlertRow {
  readonly id: number;
  readonly alertName: string;
  readonly alertContent: string | null;
  readonly alertSeverity: number;
  readonly deviceName: string;
  readonly deviceIntID?: number;
  readonly startTime: number;
  readonly endTime?: string | null;
}

interface View {
  readonly bbox: string;
  readonly zoom: number;
}

export interface PanelSource {
  /** Changes when what is answered may be another thing: with variables, for instance. */
  readonly key: string;
  /** A person may go from a panel to devices, and send commands. */
  readonly isOwn: boolean;
  series(panel: SeriesPanel, asked: Asked, signal: AbortSignal): Promise<SeriesAnswer>;
  /** Alerts of the panel's devices, where they may be seen. */
  marks(panel: SeriesPanel, range: Pick<Asked, "from" | "to">, signal: AbortSignal): Promise<readonly Mark[]>;
  alerts(
    panel: AlertsPanel,
    range: Pick<Asked, "from" | "to">,
    signal: AbortSignal,
  ): Promise<readonly AlertRow[]>;
  places(panel: MapPanel, view: View, signal: AbortSignal): Promise<Places>;
}
