/** The rules between the fields of a dashboard's document. Pure. */
import { zone, zoneFault } from "../../query/zone.js";
import { StoreError } from "../../store/lib/errors.js";
import { readDashboardTime } from "./dashboard-time.js";
import { type DashboardDocument, isTarget, type Panel, type Variable } from "./document.js";

interface Broken {
  readonly path: readonly (string | number)[];
  readonly fault: string;
}

/** `now` in milliseconds. */
export function brokenRules(document: DashboardDocument, now: number): Broken[] {
  const { variables, panels, range } = document;
  return [
    ...twice(
      variables.map(({ name }) => name),
      (i) => ["variables", i, "name"],
    ),
    ...twice(
      panels.map(({ id }) => id),
      (i) => ["panels", i, "id"],
    ),
    ...variables.flatMap(wrongValue).map(({ path, fault }) => ({ path: ["variables", ...path], fault })),
    ...wrongZone(document.timezone, ["timezone"]),
    ...wrongRange(range, now),
    ...panels.flatMap((panel, i) =>
      [...wrongLayout(panel), ...wrongTargets(panel, variables), ...wrongChoices(panel)].map(
        ({ path, fault }) => ({ path: ["panels", i, ...path], fault }),
      ),
    ),
  ];
}

function twice(names: readonly string[], toPath: (i: number) => Broken["path"]): Broken[] {
  return names.flatMap((name, i) =>
    names.indexOf(name) === i ? [] : [{ path: toPath(i), fault: "is there twice" }],
  );
}

function wrongZone(name: string, path: Broken["path"]): Broken[] {
  const fault = name === "browser" || name === "deployment" ? null : zoneFault(name);
  return fault === null ? [] : [{ path, fault: `${fault}, browser or deployment` }];
}

function wrongValue({ type, value }: Variable, i: number): Broken[] {
  const path = [i, "value"];
  if (type === "timezone") return wrongZone(value, path);
  // Empty: nothing is chosen yet.
  const isRecord = type === "device" || type === "group" || type === "product";
  if (isRecord && value !== "" && (!isTarget(value) || value.startsWith("$"))) {
    return [{ path, fault: "must be the id of a record" }];
  }
  return [];
}

function wrongRange({ start, end }: DashboardDocument["range"], now: number): Broken[] {
  try {
    const [from, to] = [start, end].map((text, i) =>
      readDashboardTime(text, zone("UTC"), now, i === 0 ? "start" : "end"),
    );
    return (from ?? 0) < (to ?? 0) ? [] : [{ path: ["range", "end"], fault: "must be after start" }];
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return Object.entries(error.fields).map(([field, fault]) => ({ path: ["range", field], fault }));
  }
}

function wrongLayout({ layout: { x, w } }: Panel): Broken[] {
  return x + w <= 12 ? [] : [{ path: ["layout", "w"], fault: "reaches beyond the twelfth column" }];
}

type Types = readonly Variable["type"][];
interface Reference {
  readonly path: Broken["path"];
  readonly target: string | undefined;
  readonly types: Types;
}

/** What a panel names, with the types of variables that may stand for it. */
function listReferences(panel: Panel): Reference[] {
  switch (panel.type) {
    case "chart":
    case "value":
    case "table":
      return panel.series.map(({ deviceID: target }, i) => ({
        path: ["series", i, "deviceID"],
        target,
        types: ["device", "group"],
      }));
    case "map":
      return [
        ...(panel.deviceIDs ?? []).map((target, i) => ({
          path: ["deviceIDs", i],
          target,
          types: ["device"] as const,
        })),
        { path: ["groupID"], target: panel.groupID, types: ["group"] },
        { path: ["productID"], target: panel.productID, types: ["product"] },
      ];
    case "alerts":
      return [
        { path: ["filters", "deviceID"], target: panel.filters.deviceID, types: ["device"] },
        { path: ["filters", "productID"], target: panel.filters.productID, types: ["product"] },
      ];
    case "command":
      return [
        { path: ["deviceID"], target: panel.deviceID, types: ["device"] },
        { path: ["groupID"], target: panel.groupID, types: ["group"] },
      ];
    case "text":
      return [];
  }
}

function wrongTargets(panel: Panel, variables: readonly Variable[]): Broken[] {
  return listReferences(panel).flatMap(({ path, target, types }) => {
    if (!target?.startsWith("$")) return [];
    const found = variables.find(({ name }) => name === target.slice(1));
    if (found !== undefined && types.includes(found.type)) return [];
    return [{ path, fault: `must name a variable of type ${types.join(" or ")}` }];
  });
}

/** Fields of which only one may be there. */
function wrongChoices(panel: Panel): Broken[] {
  switch (panel.type) {
    case "chart":
    case "value":
    case "table":
      return panel.series.flatMap(({ dataPointIntID, metricIntID }, i) =>
        (dataPointIntID === undefined) !== (metricIntID === undefined)
          ? []
          : [{ path: ["series", i, "dataPointIntID"], fault: "must be there, or metricIntID, but not both" }],
      );
    case "map": {
      const given = [panel.deviceIDs, panel.groupID, panel.productID].filter((one) => one !== undefined);
      return given.length < 2
        ? []
        : [{ path: ["groupID"], fault: "must not be there together with deviceIDs or productID" }];
    }
    case "command":
      return (panel.deviceID === undefined) !== (panel.groupID === undefined)
        ? []
        : [{ path: ["deviceID"], fault: "must be there, or groupID, but not both" }];
    default:
      return [];
  }
}
