import { z } from "@hono/zod-openapi";
import {
  createProductResource,
  listProductResources,
  type ProductResource,
  productResourceFilters,
  productResourceIDs,
  removeProductResources,
} from "../../store/metadata/products/product-resources.js";
import { createBody, integerField } from "../http/fields.js";
import { textDictionary } from "../http/labels.js";
import { type Route, route } from "../http/route.js";
import { intOrNull, intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import { productResourceListed, productResourceStored } from "../views/product-resources.js";
import type { AppDeps } from "./deps.js";
import { checkPointLimit, requireProduct } from "./product-ref.js";
import { resourceRoutes } from "./resource.js";

const tag = "Product resources";
const lwm2m = 3;

const create = createBody(
  {
    codeValue: z.enum(Object.keys(textDictionary.codeValue)),
    dataPointIntID: integerField(1),
  },
  { productIntID: integerField(1), productID: z.string(), productItemIntID: integerField(0) },
).openapi("ProductResourceCreate");

const stored = z
  .object({
    id: intSchema,
    codeValue: z.string(),
    dataPointIntID: intSchema,
    productItemIntID: intOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("ProductResourceStored");
const listed = stored
  .extend({ codeValueLabel: z.string(), dataPointName: z.string(), itemName: textOrNull })
  .openapi("ProductResource");

export function productResourceRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<ProductResource>({
      path: "/api/v1/product_resources",
      tag,
      summary: "List product resources",
      filters: productResourceFilters,
      schema: listed,
      list: ({ caller }, request) => listProductResources(db, caller.tenant, request),
      view: productResourceListed,
    }),
    route({
      method: "post",
      path: "/api/v1/product_resources",
      access: "write",
      tag,
      summary: "Create a product resource; productIntID or productID names its product",
      shape: { body: create },
      answer: { status: 201, schema: stored },
      handle: async ({ writing, caller, body }) => {
        const { codeValue, dataPointIntID, productItemIntID } = body;
        const product = await requireProduct(db, caller.tenant, body);
        await checkPointLimit(db, product.id, { dataPointIntID: [dataPointIntID] });
        const resource = await createProductResource(db, caller, now(), {
          productIntID: product.id,
          codeValue,
          dataPointIntID,
          productItemIntID: product.cloudProtocol === lwm2m ? productItemIntID || null : null,
        });
        return { status: 201, body: productResourceStored(resource, writing) };
      },
    }),
    routes.remove({
      path: "/api/v1/product_resources",
      tag,
      summary: "Delete product resources",
      ids: productResourceIDs,
      errors: [],
      remove: ({ caller }, ids) => removeProductResources(db, caller, now(), ids),
    }),
  ];
}
