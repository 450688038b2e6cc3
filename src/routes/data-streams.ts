import { z } from "@hono/zod-openapi";
import { isTopicName } from "../../ingest/messages/topics.js";
import { resolveIDs } from "../../store/metadata/db/table.js";
import { hasGateway } from "../../store/metadata/devices/lookup.js";
import {
  type DataPoint,
  dataPointFilters,
  dataPointsOfStream,
  listProductDataPoints,
} from "../../store/metadata/products/data-points.js";
import {
  createDataStream,
  type DataStream,
  type DataStreamInput,
  dataStreamFilters,
  dataStreamIDs,
  getDataStream,
  listDataStreams,
  removeDataStreams,
  updateDataStream,
} from "../../store/metadata/products/data-streams.js";
import { invalid } from "../http/errors.js";
import {
  codeField,
  createBody,
  editBody,
  fixedFields,
  integerField,
  name,
  parseWith,
  present,
  refuseChanged,
  textField,
} from "../http/fields.js";
import { listCodes } from "../http/labels.js";
import { only } from "../http/paging.js";
import { type Route, type RouteAnswer, route } from "../http/route.js";
import { idParams, intOrNull, intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import { dataPointListed, dataPointListedSchema } from "../views/data-points.js";
import { dataStreamDetail, dataStreamListed, dataStreamStored } from "../views/data-streams.js";
import type { AppDeps } from "./deps.js";
import { requireProduct } from "./product-ref.js";
import { type ResourceRequest, resourceRoutes } from "./resource.js";

const tag = "Data streams";
/** The most data points of one stream. */
const streamPointsMax = 1000;

/** Policies have these; each device publishes in a space of its own, so that a stream needs none. */
const variableHint =
  "must not hold %d or %u: only policies replace them. A stream's topic is the same for every device of the product";

const required = {
  streamName: name,
  streamType: codeField(...listCodes("streamType")),
  streamDataType: codeField(...listCodes("streamDataType")),
  topic: z
    .string()
    .max(1024)
    .refine(isTopicName, "must be a topic without wildcards")
    .refine((topic) => !/%[du]/.test(topic), variableHint),
};
const optional = { dataPoints: z.array(integerField(1)).max(streamPointsMax), detail: textField };
export const dataStreamCreate = createBody(required, {
  ...optional,
  productIntID: integerField(1),
  productID: z.string(),
}).openapi("DataStreamCreate");
const fixed = ["productID", "productIntID"] as const;
export const dataStreamEdit = editBody(required, optional)
  .extend(fixedFields(fixed))
  .openapi("DataStreamEdit");

export const dataStreamStoredSchema = z
  .object({
    id: intSchema,
    productID: z.string(),
    streamName: z.string(),
    streamType: intSchema,
    streamDataType: intSchema,
    topic: z.string(),
    dataPoints: z.array(intSchema),
    detail: textOrNull,
    userIntID: intOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("DataStreamStored");
const detailSchema = dataStreamStoredSchema
  .extend({
    productName: z.string(),
    streamTypeLabel: textOrNull,
    streamDataTypeLabel: textOrNull,
    dataPointNames: z.array(z.string()),
  })
  .openapi("DataStreamDetail");
const listedSchema = detailSchema
  .pick({
    id: true,
    productName: true,
    streamName: true,
    streamType: true,
    streamTypeLabel: true,
    streamDataType: true,
    streamDataTypeLabel: true,
    topic: true,
  })
  .openapi("DataStream");

export function dataStreamRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<DataStream>({
      path: "/api/v1/data_streams",
      tag,
      summary: "List data streams",
      filters: dataStreamFilters,
      schema: listedSchema,
      list: ({ caller }, request) => listDataStreams(db, caller.tenant, request),
      view: dataStreamListed,
    }),
    routes.detail<DataStream>({
      path: "/api/v1/data_streams/{id}",
      tag,
      summary: "One data stream",
      ids: dataStreamIDs,
      schema: detailSchema,
      get: ({ caller }, id) => getDataStream(db, caller.tenant, id),
      view: dataStreamDetail,
    }),
    routes.list<DataPoint>({
      path: "/api/v1/data_streams/{id}/data_points",
      tag,
      summary: "The data points of a stream, in its order",
      filters: dataPointFilters,
      parent: dataStreamIDs,
      schema: dataPointListedSchema,
      list: ({ caller }, request, id) => dataPointsOfStream(db, caller.tenant, request, id),
      view: dataPointListed,
    }),
    route({
      method: "post",
      path: "/api/v1/data_streams",
      access: "write",
      tag,
      summary: "Create a data stream",
      shape: { body: dataStreamCreate },
      answer: { status: 201, schema: dataStreamStoredSchema },
      errors: ["DATA_EXISTED"],
      handle: ({ caller, body, writing }) => createStream(deps, { caller, writing }, body),
    }),
    route({
      method: "put",
      path: "/api/v1/data_streams/{id}",
      access: "write",
      tag,
      summary: "Edit a data stream",
      shape: { params: idParams, body: z.looseObject({}) },
      accepts: dataStreamEdit,
      answer: { status: 200, schema: dataStreamStoredSchema },
      errors: ["DATA_EXISTED"],
      handle: ({ caller, params, body, writing }) => editStream(deps, { caller, writing }, params.id, body),
    }),
    routes.remove({
      path: "/api/v1/data_streams",
      tag,
      summary: "Delete data streams",
      ids: dataStreamIDs,
      remove: ({ caller }, ids) => removeDataStreams(db, caller, now(), ids),
    }),
  ];
}

/** The author of a change, and how the answer is written. */
type Writer = Pick<ResourceRequest, "caller" | "writing">;

export async function createStream(
  deps: AppDeps,
  { caller, writing }: Writer,
  body: z.output<typeof dataStreamCreate>,
): Promise<RouteAnswer> {
  const { db, now } = deps;
  const { productIntID, productID, ...input } = body;
  const product = await requireProduct(db, caller.tenant, { productIntID, productID });
  await checkGatewayType(db, product.id, input.streamType);
  const dataPoints = await checkMembers(db, product.id, input.dataPoints ?? []);
  const stream = await createDataStream(db, caller, now(), product.id, {
    ...input,
    dataPoints,
    detail: input.detail ?? null,
  });
  return { status: 201, body: dataStreamStored(stream, writing) };
}

export async function editStream(
  deps: AppDeps,
  { caller, writing }: Writer,
  text: string,
  body: unknown,
): Promise<RouteAnswer> {
  const { db, now } = deps;
  const id = only(await resolveIDs(db, dataStreamIDs, caller.tenant, [text]));
  const stream = await getDataStream(db, caller.tenant, id);
  const parsed = parseWith(dataStreamEdit, body);
  refuseChanged(parsed, stream, fixed);
  const { productID: _a, productIntID: _b, dataPoints, ...input } = parsed;
  if (input.streamType !== undefined) await checkGatewayType(db, stream.productIntID, input.streamType);
  const edited = await updateDataStream(db, caller, now(), id, {
    ...(present(input) as Partial<DataStreamInput>),
    ...(dataPoints === undefined
      ? {}
      : { dataPoints: await checkMembers(db, stream.productIntID, dataPoints ?? []) }),
  });
  return { status: 200, body: dataStreamStored(edited, writing) };
}

/** Checks that the data points belong to the stream's own product; each counts once. */
async function checkMembers(db: AppDeps["db"], product: number, ids: readonly number[]): Promise<number[]> {
  const known = new Set((await listProductDataPoints(db, product)).map((point) => point.id));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw invalid({ dataPoints: `the product has no data point ${unknown}` });
  if (new Set(ids).size !== ids.length) throw invalid({ dataPoints: "must not name a data point twice" });
  return [...ids];
}

/** Types 3 and 4 are for products that have a gateway. */
async function checkGatewayType(db: AppDeps["db"], product: number, streamType: number): Promise<void> {
  if (streamType < 3) return;
  if (!(await hasGateway(db, product)))
    throw invalid({ streamType: "3 and 4 need a product that has a gateway" });
}
