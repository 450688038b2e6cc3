import type { VNode } from "preact";
import type { PanelProps } from "../context.js";
import type { Panel } from "../document.js";
import { AlertsPanel } from "./AlertsPanel.js";
import { ChartPanel } from "./ChartPanel.js";
import { CommandPanel } from "./CommandPanel.js";
import { MapPanel } from "./MapPanel.js";
import { TablePanel } from "./TablePanel.js";
import { TextPanel } from "./TextPanel.js";
import { ValuePanel } from "./ValuePanel.js";

/** What a panel shows, by its type. */
export function PanelBody({ panel, ...shared }: PanelProps<Panel>): VNode {
  switch (panel.type) {
    case "chart":
      return <ChartPanel panel={panel} {...shared} />;
    case "value":
      return <ValuePanel panel={panel} {...shared} />;
    case "table":
      return <TablePanel panel={panel} {...shared} />;
    case "map":
      return <MapPanel panel={panel} {...shared} />;
    case "alerts":
      return <AlertsPanel panel={panel} {...shared} />;
    case "command":
      return <CommandPanel panel={panel} {...shared} />;
    case "text":
      return <TextPanel panel={panel} {...shared} />;
  }
}
