import { z } from "@hono/zod-openapi";
import {
  createProduct,
  getProduct,
  listProducts,
  productFilters,
  productIDs,
  removeProducts,
  updateProduct,
} from "../../store/products.js";
import { resolveIDs } from "../../store/table.js";
import type { AppDeps } from "../deps.js";
import {
  code,
  createBody,
  editBody,
  fixedFields,
  name,
  present,
  refuseChanged,
  text,
} from "../http/fields.js";
import { idsQuery, idTexts, listQuery, only, pageAnswer, pageRequest } from "../http/paging.js";
import { type Route, route } from "../http/route.js";
import { codesOf } from "../views/labels.js";
import { productDetail, productListed, productStored } from "../views/products.js";
import { idParams, int, intOrNull, pageOf, stampOrNull, stampText, textOrNull } from "./schemas.js";

const required = { productName: name, cloudProtocol: code(...codesOf("cloudProtocol")) };
const optional = { description: text };
const fixed = ["productID", "cloudProtocol"] as const;
const tag = "Products";
const misspelt = { pruductName_like: "productName" };

const stored = z
  .object({
    id: int,
    productID: z.string(),
    productName: z.string(),
    description: textOrNull,
    cloudProtocol: int,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("ProductStored");
const detail = stored
  .extend({ cloudProtocolLabel: z.string(), deviceCount: int, createUser: textOrNull })
  .openapi("ProductDetail");
const listed = detail
  .omit({ createUser: true })
  .extend({ appCount: int, dataPointCount: intOrNull, dataStreamCount: intOrNull, itemCount: intOrNull })
  .openapi("Product");

export function productRoutes({ db, now, stamp }: AppDeps): Route[] {
  const find = async (tenant: number, id: string) => only(await resolveIDs(db, productIDs, tenant, [id]));
  return [
    route({
      method: "get",
      path: "/api/v1/products",
      access: "read",
      tag,
      summary: "List products",
      shape: { query: listQuery(productFilters, misspelt) },
      answer: { status: 200, schema: pageOf(listed) },
      handle: async ({ caller, query }) => {
        const request = pageRequest(query, productFilters, misspelt);
        const page = await listProducts(db, caller.tenant, request);
        return pageAnswer(page, request, (product) => productListed(product, stamp));
      },
    }),
    route({
      method: "get",
      path: "/api/v1/products/{id}",
      access: "read",
      tag,
      summary: "One product",
      shape: { params: idParams },
      answer: { status: 200, schema: detail },
      handle: async ({ caller, params }) => {
        const id = await find(caller.tenant, params.id);
        return { status: 200, body: productDetail(await getProduct(db, caller.tenant, id), stamp) };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/products",
      access: "write",
      tag,
      summary: "Create a product",
      shape: { body: createBody(required, optional) },
      answer: { status: 201, schema: stored },
      errors: ["DATA_EXISTED"],
      handle: async ({ caller, body }) => {
        const product = await createProduct(db, caller, now(), {
          productName: body.productName,
          cloudProtocol: body.cloudProtocol,
          description: body.description ?? null,
        });
        return { status: 201, body: productStored(product, stamp) };
      },
    }),
    route({
      method: "put",
      path: "/api/v1/products/{id}",
      access: "write",
      tag,
      summary: "Edit a product",
      shape: {
        params: idParams,
        body: editBody({ productName: name }, optional).extend(fixedFields(fixed)),
      },
      answer: { status: 200, schema: stored },
      errors: ["DATA_EXISTED"],
      handle: async ({ caller, params, body }) => {
        const id = await find(caller.tenant, params.id);
        refuseChanged(body, await getProduct(db, caller.tenant, id), fixed);
        const { productName, description } = body;
        const product = await updateProduct(db, caller, now(), id, present({ productName, description }));
        return { status: 200, body: productStored(product, stamp) };
      },
    }),
    route({
      method: "delete",
      path: "/api/v1/products",
      access: "write",
      tag,
      summary: "Delete products and what they own",
      shape: { query: idsQuery },
      answer: { status: 204 },
      errors: ["DATA_NOT_FOUND", "REFERENCED_ERROR"],
      handle: async ({ caller, query }) => {
        const ids = await resolveIDs(db, productIDs, caller.tenant, idTexts(query));
        await removeProducts(db, caller, now(), ids);
        return { status: 204 };
      },
    }),
  ];
}
