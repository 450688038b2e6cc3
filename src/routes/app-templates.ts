import { z } from "@hono/zod-openapi";
import { isTopicName } from "../../ingest/messages/topics.js";
import { ifNotFound } from "../../store/lib/errors.js";
import {
  type AppTemplate,
  type AppTemplateInput,
  appTemplateFilters,
  appTemplateIDs,
  createAppTemplate,
  getAppTemplate,
  listAppTemplates,
  removeAppTemplates,
  updateAppTemplate,
} from "../../store/metadata/products/app-templates.js";
import { type DataStream, getDataStream } from "../../store/metadata/products/data-streams.js";
import { findProductByIntID, type ProductRef } from "../../store/metadata/products/products.js";
import { invalid } from "../http/errors.js";
import {
  codeField,
  createBody,
  editBody,
  fixedFields,
  integerField,
  jsonField,
  name,
  present,
  refuseChanged,
  textField,
} from "../http/fields.js";
import { listCodes } from "../http/labels.js";
import { type Route, type RouteAnswer, route } from "../http/route.js";
import { idParams } from "../http/schemas.js";
import {
  appTemplateListed,
  appTemplateSchema,
  appTemplateStored,
  appTemplateStoredSchema,
} from "../views/app-templates.js";
import type { AppDeps } from "./deps.js";
import { deviceConsoleRoutes } from "./device-consoles.js";
import { checkPointLimit, requireProduct } from "./product-ref.js";
import { type ResourceRequest, resourceRoutes } from "./resource.js";

const tag = "App templates";
const lwm2m = 3;
const defaultValuesMax = 100;

const required = {
  templateName: name,
  templateType: codeField(...listCodes("templateType")),
  dataPointIntID: integerField(1),
};
/** Fields of LwM2M products; null for others. */
const itemFields = {
  productItemIntID: integerField(0),
  instanceID: integerField(0),
  itemID: integerField(0),
  itemName: textField,
  itemOperations: textField.max(16),
  objectID: integerField(0),
};
const optional = {
  dataStreamIntID: integerField(1),
  /** A blank topic counts as none, so the stream's applies. */
  topic: z
    .string()
    .max(1024)
    .refine((topic) => topic.trim() === "" || isTopicName(topic), "must be a topic without wildcards")
    .transform((topic) => (topic.trim() === "" ? null : topic)),
  places: z.array(integerField()).length(2),
  /** For a data point sent back as read, its id and the value count. */
  defaultValues: z
    .array(z.object({ id: integerField(1), value: jsonField.nullable().optional() }))
    .max(defaultValuesMax),
  ...itemFields,
};
const create = createBody(required, {
  ...optional,
  productIntID: integerField(1),
  productID: z.string(),
}).openapi("AppTemplateCreate");
const fixed = ["productID", "productIntID"] as const;
const edit = editBody(required, optional).extend(fixedFields(fixed)).openapi("AppTemplateEdit");

export function appTemplateRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<AppTemplate>({
      path: "/api/v1/app_templates",
      tag,
      summary: "List app templates",
      filters: appTemplateFilters,
      schema: appTemplateSchema,
      list: ({ caller }, request) => listAppTemplates(db, caller.tenant, request),
      view: appTemplateListed,
    }),
    routes.detail<AppTemplate>({
      path: "/api/v1/app_templates/{id}",
      tag,
      summary: "One app template",
      ids: appTemplateIDs,
      schema: appTemplateSchema,
      get: ({ caller }, id) => getAppTemplate(db, caller.tenant, id),
      view: appTemplateListed,
    }),
    route({
      method: "post",
      path: "/api/v1/app_templates",
      access: "write",
      tag,
      summary: "Create an app template; productIntID or productID names its product",
      shape: { body: create },
      answer: { status: 201, schema: appTemplateStoredSchema },
      handle: ({ caller, body, writing }) => createTemplate(deps, { caller, writing }, body),
    }),
    route({
      method: "put",
      path: "/api/v1/app_templates/{id}",
      access: "write",
      tag,
      summary: "Edit an app template",
      shape: { params: idParams, body: edit },
      answer: { status: 200, schema: appTemplateStoredSchema },
      handle: async (input) => {
        const id = await routes.find(input, appTemplateIDs, input.params.id);
        return editTemplate(deps, input, id, input.body);
      },
    }),
    routes.remove({
      path: "/api/v1/app_templates",
      tag,
      summary: "Delete app templates",
      ids: appTemplateIDs,
      errors: [],
      remove: ({ caller }, ids) => removeAppTemplates(db, caller, now(), ids),
    }),
    ...deviceConsoleRoutes(deps),
  ];
}

async function createTemplate(
  { db, now }: AppDeps,
  { caller, writing }: Pick<ResourceRequest, "caller" | "writing">,
  body: z.output<typeof create>,
): Promise<RouteAnswer> {
  const { productIntID, productID, ...input } = body;
  const product = await requireProduct(db, caller.tenant, { productIntID, productID });
  const stream = await checkParts(db, caller.tenant, product.id, input);
  const fields = present({ ...input, topic: ownTopic(input.topic, stream) }) as AppTemplateInput;
  const template = await createAppTemplate(db, caller, now(), product.id, itemsOnly(product, fields));
  return { status: 201, body: appTemplateStored(template, writing) };
}

async function editTemplate(
  { db, now }: AppDeps,
  { caller, writing }: Pick<ResourceRequest, "caller" | "writing">,
  id: number,
  body: z.output<typeof edit>,
): Promise<RouteAnswer> {
  const template = await getAppTemplate(db, caller.tenant, id);
  const product = await findProductByIntID(db, caller.tenant, template.productIntID);
  refuseChanged(body, template, fixed);
  const { productID: _a, productIntID: _b, topic, ...changes } = body;
  const stream = await checkParts(db, caller.tenant, template.productIntID, {
    dataPointIntID: changes.dataPointIntID ?? template.dataPointIntID,
    dataStreamIntID:
      changes.dataStreamIntID === undefined ? template.dataStreamIntID : changes.dataStreamIntID,
    defaultValues: changes.defaultValues,
  });
  // A topic sent back as read follows the stream: only a different one is the template's own.
  const sentTopic = topic === template.topic ? undefined : ownTopic(topic, stream);
  const fields = present({ ...changes, topic: sentTopic }) as AppTemplateInput;
  const edited = await updateAppTemplate(db, caller, now(), id, itemsOnly(product, fields));
  return { status: 200, body: appTemplateStored(edited, writing) };
}

interface Parts {
  readonly dataPointIntID: number;
  readonly dataStreamIntID?: number | null | undefined;
  readonly defaultValues?: readonly { readonly id: number }[] | null | undefined;
}

/** Checks that everything a template names belongs to its product; returns its stream. */
async function checkParts(
  db: AppDeps["db"],
  tenant: number,
  productIntID: number,
  { dataPointIntID, dataStreamIntID, defaultValues }: Parts,
): Promise<DataStream | null> {
  await checkPointLimit(db, productIntID, {
    dataPointIntID: [dataPointIntID],
    defaultValues: (defaultValues ?? []).map(({ id }) => id),
  });
  if (!dataStreamIntID) return null;
  const stream = await getDataStream(db, tenant, dataStreamIntID).catch(ifNotFound(undefined));
  if (stream?.productIntID === productIntID) return stream;
  throw invalid({ dataStreamIntID: "the product has no such data stream" });
}

/** The stream's topic is looked up, so that it follows the stream. */
function ownTopic(topic: string | null | undefined, stream: DataStream | null): string | null | undefined {
  return stream !== null && topic === stream.topic ? null : topic;
}

/** Items belong to LwM2M; an empty list of default values counts as none. */
function itemsOnly(product: ProductRef | undefined, input: AppTemplateInput): AppTemplateInput {
  const { defaultValues } = input;
  const cleared = { ...input, ...(defaultValues === null ? { defaultValues: [] } : {}) };
  if (product?.cloudProtocol === lwm2m) {
    return cleared.productItemIntID === 0 ? { ...cleared, productItemIntID: null } : cleared;
  }
  const none = Object.keys(itemFields).filter((field) => field in cleared);
  return { ...cleared, ...Object.fromEntries(none.map((field) => [field, null])) };
}
