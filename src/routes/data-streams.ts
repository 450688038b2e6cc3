import { z } from "@hono/zod-openapi";
import { isTopicName } from "../../ingest/topics.js";
import { dataPointsOf } from "../../store/data-points.js";
import {
  createDataStream,
  type DataStreamInput,
  dataStreamFilters,
  dataStreamIDs,
  getDataStream,
  listDataStreams,
  removeDataStreams,
  updateDataStream,
} from "../../store/data-streams.js";
import { resolveIDs } from "../../store/table.js";
import type { AppDeps } from "../deps.js";
import type { Caller } from "../http/auth.js";
import { invalid } from "../http/errors.js";
import {
  code,
  createBody,
  editBody,
  fixedFields,
  integer,
  name,
  parseWith,
  present,
  refuseChanged,
  text,
} from "../http/fields.js";
import { idsQuery, idTexts, listQuery, only, pageAnswer, pageRequest } from "../http/paging.js";
import { type Answer, type Route, route } from "../http/route.js";
import { idParams, int, intOrNull, pageOf, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import { dataPointListed } from "../views/data-points.js";
import { dataStreamDetail, dataStreamListed, dataStreamStored } from "../views/data-streams.js";
import { codesOf } from "../views/labels.js";
import { productOf } from "./product-ref.js";

const tag = "Data streams";
/** Data points of one stream. */
const streamPointsMax = 1000;

const required = {
  streamName: name,
  streamType: code(...codesOf("streamType")),
  streamDataType: code(...codesOf("streamDataType")),
  topic: z.string().max(1024).refine(isTopicName, "must be a topic without wildcards"),
};
const optional = { dataPoints: z.array(integer(1)).max(streamPointsMax), detail: text };
export const dataStreamCreate = createBody(required, {
  ...optional,
  productIntID: integer(1),
  productID: z.string(),
}).openapi("DataStreamCreate");
const fixed = ["productID", "productIntID"] as const;
const dataStreamEdit = editBody(required, optional).extend(fixedFields(fixed));

export const dataStreamStoredSchema = z
  .object({
    id: int,
    productID: z.string(),
    streamName: z.string(),
    streamType: int,
    streamDataType: int,
    topic: z.string(),
    dataPoints: z.array(int),
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
  const { db, now, stamp } = deps;
  const find = async (tenant: number, id: string) => only(await resolveIDs(db, dataStreamIDs, tenant, [id]));
  return [
    route({
      method: "get",
      path: "/api/v1/data_streams",
      access: "read",
      tag,
      summary: "List data streams",
      shape: { query: listQuery(dataStreamFilters) },
      answer: { status: 200, schema: pageOf(listedSchema) },
      handle: async ({ caller, query }) => {
        const request = pageRequest(query, dataStreamFilters);
        const page = await listDataStreams(db, caller.tenant, request);
        return pageAnswer(page, request, dataStreamListed);
      },
    }),
    route({
      method: "get",
      path: "/api/v1/data_streams/{id}",
      access: "read",
      tag,
      summary: "One data stream",
      shape: { params: idParams },
      answer: { status: 200, schema: detailSchema },
      handle: async ({ caller, params }) => {
        const stream = await getDataStream(db, caller.tenant, await find(caller.tenant, params.id));
        return { status: 200, body: dataStreamDetail(stream, stamp) };
      },
    }),
    route({
      method: "get",
      path: "/api/v1/data_streams/{id}/data_points",
      access: "read",
      tag,
      summary: "The data points of a stream, in its order",
      shape: { params: idParams, query: listQuery({}) },
      answer: { status: 200, schema: pageOf(z.looseObject({ id: int })) },
      handle: async ({ caller, params, query }) => {
        const request = pageRequest(query, {});
        const stream = await getDataStream(db, caller.tenant, await find(caller.tenant, params.id));
        const points = await dataPointsOf(db, stream.productIntID);
        const members = stream.dataPoints.flatMap((id) => points.find((point) => point.id === id) ?? []);
        const from = (request.page - 1) * request.limit;
        const items = members.slice(from, from + request.limit);
        return pageAnswer({ items, count: members.length }, request, (point) =>
          dataPointListed(point, stamp),
        );
      },
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
      handle: ({ caller, body }) => createStream(deps, caller, body),
    }),
    route({
      method: "put",
      path: "/api/v1/data_streams/{id}",
      access: "write",
      tag,
      summary: "Edit a data stream",
      shape: { params: idParams, body: z.looseObject({}).openapi("DataStreamEdit") },
      answer: { status: 200, schema: dataStreamStoredSchema },
      errors: ["DATA_EXISTED"],
      handle: ({ caller, params, body }) => editStream(deps, caller, params.id, body),
    }),
    route({
      method: "delete",
      path: "/api/v1/data_streams",
      access: "write",
      tag,
      summary: "Delete data streams",
      shape: { query: idsQuery },
      answer: { status: 204 },
      errors: ["DATA_NOT_FOUND", "REFERENCED_ERROR"],
      handle: async ({ caller, query }) => {
        const ids = await resolveIDs(db, dataStreamIDs, caller.tenant, idTexts(query));
        await removeDataStreams(db, caller, now(), ids);
        return { status: 204 };
      },
    }),
  ];
}

export async function createStream(
  { db, now, stamp }: AppDeps,
  caller: Caller,
  body: z.output<typeof dataStreamCreate>,
): Promise<Answer> {
  const { productIntID, productID, ...input } = body;
  const product = await productOf(db, caller.tenant, { productIntID, productID });
  await checkGatewayType(db, product.id, input.streamType);
  const dataPoints = await checkMembers(db, product.id, input.dataPoints ?? []);
  const stream = await createDataStream(db, caller, now(), product.id, {
    ...input,
    dataPoints,
    detail: input.detail ?? null,
  });
  return { status: 201, body: dataStreamStored(stream, stamp) };
}

export async function editStream(
  { db, now, stamp }: AppDeps,
  caller: Caller,
  text: string,
  body: unknown,
): Promise<Answer> {
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
  return { status: 200, body: dataStreamStored(edited, stamp) };
}

/** Data points of the stream's own product, each once. */
async function checkMembers(db: AppDeps["db"], product: number, ids: readonly number[]): Promise<number[]> {
  const known = new Set((await dataPointsOf(db, product)).map((point) => point.id));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) throw invalid({ dataPoints: `the product has no data point ${unknown}` });
  if (new Set(ids).size !== ids.length) throw invalid({ dataPoints: "must not name a data point twice" });
  return [...ids];
}

/** Types 3 and 4 are for products that have a gateway. */
async function checkGatewayType(db: AppDeps["db"], product: number, streamType: number): Promise<void> {
  if (streamType < 3) return;
  const row = await db.first("select 1 from device where productIntID = ? and kind = 'gateway' limit 1", [
    product,
  ]);
  if (row === undefined) throw invalid({ streamType: "3 and 4 need a product that has a gateway" });
}
