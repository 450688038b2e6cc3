/** What a panel asks of the API, or sends to it, as a person would type it. Pure. */
import { asCurl, type Query } from "../api.js";
import { alertsQuestion, listDataRequests } from "./api-source.js";
import type { Board } from "./context.js";
import type { MapPanel, Panel, Variable } from "./document.js";
import { createCommandBody, prepareCommand } from "./panel-command.js";
import { type Chosen, resolveTarget } from "./targets.js";

const pointsMax = 10_000;
const wholeEarth = { bbox: "-180,-90,180,90", zoom: 2 };

/** Empty: it asks nothing. */
export function formatCurl(panel: Panel, board: Board): string {
  const { from, to, zone, variables, chosen } = board;
  switch (panel.type) {
    case "chart":
    case "value":
    case "table":
      return lines(
        listDataRequests(panel, { from, to, zone, size: { maxPoints: pointsMax } }, variables, chosen),
      );
    case "alerts": {
      const question = alertsQuestion(panel, { from, to }, variables, chosen);
      return question === null ? "" : lines([question]);
    }
    case "map":
      return lines(placesQuestions(panel, variables, chosen));
    case "command": {
      const sent = prepareCommand(panel, variables, chosen);
      return sent === null || sent.payload === null
        ? ""
        : asCurl("POST", sent.path, {}, createCommandBody(sent));
    }
    case "text":
      return "";
  }
}

interface Question {
  readonly path: string;
  readonly query: Query;
}

const lines = (questions: readonly Question[]): string =>
  questions.map(({ path, query }) => asCurl("GET", path, query)).join("\n");

/** For a group or product there are two requests: the first answers with the id that the second takes. */
function placesQuestions(
  { deviceIDs, groupID, productID }: MapPanel,
  variables: readonly Variable[],
  chosen: Chosen,
): Question[] {
  if (deviceIDs !== undefined) {
    return deviceIDs.flatMap((text) => {
      const target = resolveTarget(text, "device", variables, chosen);
      return target === null ? [] : [{ path: "/devices", query: { deviceID: target.id } }];
    });
  }
  const places = (of: Query): Question => ({ path: "/device_places", query: { ...of, ...wholeEarth } });
  const [text, type] = groupID !== undefined ? [groupID, "group" as const] : [productID, "product" as const];
  if (text === undefined) return [places({})];
  const target = resolveTarget(text, type, variables, chosen);
  if (target === null) return [];
  return target.type === "group"
    ? [{ path: "/groups", query: { groupID: target.id } }, places({ groupIntID: "ID" })]
    : [{ path: "/products", query: { productID: target.id } }, places({ productIntID: "ID" })];
}
