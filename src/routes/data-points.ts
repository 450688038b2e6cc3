import { z } from "@hono/zod-openapi";
import { ifNotFound } from "../../store/lib/errors.js";
import { resolveIDs } from "../../store/metadata/db/table.js";
import {
  createDataPoint,
  type DataPoint,
  type DataPointInput,
  dataPointFilters,
  dataPointIDs,
  getDataPoint,
  listDataPoints,
  removeDataPoints,
  toSeriesKind,
  updateDataPoint,
} from "../../store/metadata/products/data-points.js";
import { dataStreamIDs } from "../../store/metadata/products/data-streams.js";
import type { ApiCaller } from "../http/caller.js";
import { invalid } from "../http/errors.js";
import {
  codeField,
  codesField,
  createBody,
  editBody,
  fixedFields,
  float,
  integerField,
  jsonField,
  name,
  parseWith,
  present,
  refuseChanged,
  textField,
} from "../http/fields.js";
import { listCodes } from "../http/labels.js";
import { idsQuery, idTexts, only } from "../http/paging.js";
import { type Route, type RouteAnswer, route } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import {
  dataPointDetail,
  dataPointDetailSchema,
  dataPointListed,
  dataPointListedSchema,
  dataPointStored,
  dataPointStoredSchema,
} from "../views/data-points.js";
import {
  createStream,
  dataStreamCreate,
  dataStreamEdit,
  dataStreamStoredSchema,
  editStream,
} from "./data-streams.js";
import type { AppDeps } from "./deps.js";
import { requireProduct } from "./product-ref.js";
import { type ResourceRequest, resourceRoutes } from "./resource.js";

const tag = "Data points";
const modbus = 7;
const fault = 4;

const dataPointID = z
  .string()
  .regex(
    /^[A-Za-z0-9.:-][A-Za-z0-9_.:-]{0,63}$/,
    "must be 1 to 64 letters, digits, _ . : - and not begin with _",
  )
  .refine((id) => id !== "time", "must not be time, which names the time of a message");

const required = {
  dataPointName: name,
  pointDataType: codeField(...listCodes("pointDataType")),
  dataTransType: codeField(...listCodes("dataTransType")),
};
const optional = {
  unitName: textField.max(64),
  unitSymbol: textField.max(64),
  upperLimit: float(),
  lowerLimit: float(),
  dataStep: float(),
  binarySize: integerField(0, 65_535),
  faultValue: textField.max(255),
  isDiscard: codeField(0, 1),
  enum: z.array(z.object({ value: jsonField, label: jsonField })).max(1000),
  isLocationType: codesField(0, 2),
  locationType: codesField(1, 3),
  registerAddr: textField.max(64),
  detail: textField,
};
/** productIntID may be left out if productID names the product. */
const owner = { productIntID: integerField(1), productID: z.string() };
const createPoint = createBody({ ...required, dataPointID }, { ...optional, ...owner }).openapi(
  "DataPointCreate",
);
const fixed = ["dataPointID", "productID", "productIntID"] as const;
const editPoint = editBody(required, optional).extend(fixedFields(fixed)).openapi("DataPointEdit");

const pointOrStream = z.union([dataPointStoredSchema, dataStreamStoredSchema]);

export function dataPointRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  const isStream = async (tenant: number, id: string): Promise<boolean> =>
    resolveIDs(db, dataStreamIDs, tenant, [id]).then(() => true, ifNotFound(false));

  return [
    routes.list<DataPoint>({
      path: "/api/v1/data_points",
      tag,
      summary: "List data points",
      filters: dataPointFilters,
      schema: dataPointListedSchema,
      list: ({ caller }, request) => listDataPoints(db, caller.tenant, request),
      view: dataPointListed,
    }),
    routes.detail<DataPoint>({
      path: "/api/v1/data_points/{id}",
      tag,
      summary: "One data point",
      ids: dataPointIDs,
      schema: dataPointDetailSchema,
      get: ({ caller }, id) => getDataPoint(db, caller.tenant, id),
      view: dataPointDetail,
    }),
    route({
      method: "post",
      path: "/api/v1/data_points",
      access: "write",
      tag,
      summary: "Create a data point; a body with streamName and no dataPointID creates a data stream",
      shape: { body: z.looseObject({}) },
      accepts: z.union([createPoint, dataStreamCreate]),
      answer: { status: 201, schema: pointOrStream },
      errors: ["DATA_EXISTED"],
      handle: async ({ writing, caller, body }): Promise<RouteAnswer> => {
        if (body.streamName !== undefined && body.dataPointID === undefined) {
          return createStream(deps, { caller, writing }, parseWith(dataStreamCreate, body));
        }
        const { dataPointID: id, productIntID, productID, ...input } = parseWith(createPoint, body);
        const product = await requireProduct(db, caller.tenant, { productIntID, productID });
        checkPoint(input, product.cloudProtocol);
        const point = await createDataPoint(db, caller, now(), product.id, id, {
          ...(present(input) as DataPointInput),
          isLocationType: input.isLocationType ?? (input.locationType ? 1 : 0),
        });
        return { status: 201, body: dataPointStored(point, writing) };
      },
    }),
    route({
      method: "put",
      path: "/api/v1/data_points/{id}",
      access: "write",
      tag,
      summary: "Edit a data point, or the data stream of that id",
      shape: { params: idParams, body: z.looseObject({}) },
      accepts: z.union([editPoint, dataStreamEdit]),
      answer: { status: 200, schema: pointOrStream },
      errors: ["DATA_EXISTED"],
      handle: async ({ caller, params, body, writing }): Promise<RouteAnswer> => {
        const edit = (await isStream(caller.tenant, params.id)) ? editStream : editFoundPoint;
        return edit(deps, { caller, writing }, params.id, body);
      },
    }),
    route({
      method: "delete",
      path: "/api/v1/data_points",
      access: "write",
      tag,
      summary: "Delete data points, or the data streams of those ids",
      shape: { query: idsQuery },
      answer: { status: 204 },
      errors: ["DATA_NOT_FOUND", "REFERENCED_ERROR"],
      handle: ({ caller, query }) => removePointsAndStreams(deps, caller, idTexts(query)),
    }),
  ];
}

async function editFoundPoint(
  deps: AppDeps,
  { caller, writing }: Pick<ResourceRequest, "caller" | "writing">,
  text: string,
  body: unknown,
): Promise<RouteAnswer> {
  const { db, now } = deps;
  const id = only(await resolveIDs(db, dataPointIDs, caller.tenant, [text]));
  const point = await getDataPoint(db, caller.tenant, id);
  const parsed = parseWith(editPoint, body);
  refuseChanged(parsed, point, fixed);
  const { dataPointID: _a, productID: _b, productIntID: _c, ...input } = parsed;
  const product = await requireProduct(db, caller.tenant, { productIntID: point.productIntID });
  checkPoint({ ...point, ...present(input) }, product.cloudProtocol);
  if (
    input.pointDataType !== undefined &&
    toSeriesKind(input.pointDataType) !== toSeriesKind(point.pointDataType)
  ) {
    throw invalid({
      pointDataType: `must stay within the stored kind, ${toSeriesKind(point.pointDataType)}`,
    });
  }
  const { isLocationType, ...rest } = input;
  const edited = await updateDataPoint(db, caller, now(), id, {
    ...(present(rest) as DataPointInput),
    ...(isLocationType === undefined
      ? {}
      : { isLocationType: isLocationType ?? ((rest.locationType ?? point.locationType) ? 1 : 0) }),
  });
  return { status: 200, body: dataPointStored(edited, writing) };
}

/** Ids of either kind: each belongs to a point or a stream, because both share one sequence. */
async function removePointsAndStreams(
  deps: AppDeps,
  caller: ApiCaller,
  texts: readonly string[],
): Promise<RouteAnswer> {
  const { db, now } = deps;
  const found = await Promise.all(
    texts.map(async (text) => {
      const stream = await resolveIDs(db, dataStreamIDs, caller.tenant, [text]).catch(ifNotFound([]));
      return stream.length > 0
        ? { streams: stream, points: [] }
        : { streams: [], points: await resolveIDs(db, dataPointIDs, caller.tenant, [text]) };
    }),
  );
  const streams = found.flatMap((one) => one.streams);
  const points = found.flatMap((one) => one.points);
  await removeDataPoints(db, caller, now(), points, streams);
  return { status: 204 };
}

function checkPoint(
  point: {
    readonly [K in "pointDataType" | "faultValue" | "registerAddr"]?: DataPoint[K] | null | undefined;
  },
  cloudProtocol: number,
): void {
  const errors: Record<string, string> = {};
  if (point.pointDataType === fault && !point.faultValue) errors.faultValue = "is required for a fault";
  if (cloudProtocol === modbus && !point.registerAddr)
    errors.registerAddr = "is required for Modbus products";
  if (Object.keys(errors).length > 0) throw invalid(errors);
}
