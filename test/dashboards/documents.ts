/** Documents of dashboards for tests. */

export const layout = { x: 0, y: 0, w: 6, h: 4 } as const;

/** A panel of each type, of the records that are given. */
export function panelsOf(ids: {
  readonly deviceID: string;
  readonly groupID: string;
  readonly productID: string;
  readonly dataPointIntID: number;
  readonly metricIntID: number;
}): Record<string, unknown>[] {
  const { deviceID, groupID, productID, dataPointIntID, metricIntID } = ids;
  const chart = {
    layout,
    unit: "real",
    series: [{ deviceID, dataPointIntID, label: "T", color: 7, axis: "right" }],
  };
  return [
    {
      id: "chart",
      type: "chart",
      title: "T",
      phone: { order: 1, h: 3 },
      ...chart,
      compare: "-1d",
      limits: true,
    },
    {
      id: "value",
      type: "value",
      title: "",
      ...chart,
      unit: "day",
      fill: "zero",
      series: [{ deviceID: "$house", metricIntID }],
    },
    { id: "table", type: "table", title: "T", ...chart },
    { id: "map", type: "map", title: "M", layout, deviceIDs: [deviceID, "$house"] },
    { id: "map-of-group", type: "map", title: "M", layout, groupID },
    { id: "map-of-product", type: "map", title: "M", layout, productID },
    {
      id: "alerts",
      type: "alerts",
      title: "A",
      layout,
      filters: { state: "current", alertSeverity: 2, deviceID: "$house" },
    },
    {
      id: "command",
      type: "command",
      title: "C",
      layout,
      deviceID,
      payload: "{}",
      confirm: true,
      label: "shut",
    },
    { id: "text", type: "text", title: "", layout, markdown: "# *hello* <script>" },
  ];
}

export const documentBody = (panels: readonly object[], fields: object = {}): Record<string, unknown> => ({
  variables: [{ name: "house", label: "House", type: "device", value: "" }],
  range: { start: "-24h", end: "now" },
  timezone: "deployment",
  refreshSeconds: 0,
  panels,
  ...fields,
});
