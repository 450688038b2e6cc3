/** The places that a map of a shared dashboard shows. */
import { z } from "@hono/zod-openapi";
import { findGroupTarget } from "../../store/metadata/commands/command-targets.js";
import { placesOfNamed } from "../../store/metadata/devices/named-places.js";
import { devicePlaces, type Places } from "../../store/metadata/devices/places.js";
import { findProduct } from "../../store/metadata/products/products.js";
import { findSharedTarget, type SharedDocument, type SharedPanel } from "../dashboards/shared.js";
import { invalid } from "../http/errors.js";
import type { RouteAnswer, Variant } from "../http/route.js";
import { places, placesSchema } from "../views/device-places.js";
import type { AppDeps } from "./deps.js";
import { placedKinds, readView, type viewQuery } from "./device-places.js";

export const mapSchema = placesSchema.extend({ type: z.literal("map") });

type MapPanel = Extract<SharedPanel, { readonly type: "map" }>;

interface MapRequest {
  readonly tenant: number;
  readonly document: SharedDocument;
  readonly variant: Variant;
}

const nowhere: Places = { clusters: [], total: 0, isTruncated: false };
/** The whole earth, as a map shows it that has not been moved. */
const wholeEarth = { bbox: "-180,-90,180,90", zoom: "2" } as const;

export async function answerMap(
  { db }: Pick<AppDeps, "db">,
  { tenant, document, variant }: MapRequest,
  panel: MapPanel,
  query: z.output<typeof viewQuery>,
): Promise<RouteAnswer> {
  const errors: Record<string, string> = {};
  const view = readView({ bbox: query.bbox || wholeEarth.bbox, zoom: query.zoom || wholeEarth.zoom }, errors);
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const found = await readPlaces();
  return { status: 200, body: { type: "map", ...places(found, { variant }) } };

  async function readPlaces(): Promise<Places> {
    if (panel.deviceIDs !== undefined) {
      const ids = panel.deviceIDs.flatMap((text) => findSharedTarget(document, text, "device")?.id ?? []);
      return ids.length === 0 ? nowhere : placesOfNamed(db, tenant, ids);
    }
    const idOf = async (
      text: string | undefined,
      type: "group" | "product",
      find: (id: string) => Promise<number | undefined>,
    ) => {
      if (text === undefined) return null;
      const target = findSharedTarget(document, text, type);
      return target === null ? undefined : find(target.id);
    };
    const groupIntID = await idOf(panel.groupID, "group", async (groupID) => {
      return (await findGroupTarget(db, tenant, { groupID }))?.id;
    });
    const productIntID = await idOf(panel.productID, "product", async (id) => {
      return (await findProduct(db, tenant, id))?.id;
    });
    if (groupIntID === undefined || productIntID === undefined) return nowhere;
    return devicePlaces(db, tenant, {
      ...view,
      kinds: placedKinds(variant),
      productIntID,
      groupIntID,
      deviceIntID: null,
    });
  }
}
