import { z } from "@hono/zod-openapi";
import type { Db } from "../../store/metadata/db/db.js";
import {
  createProduct,
  devicesOfProducts,
  getProduct,
  listProducts,
  type Product,
  productFilters,
  productIDs,
  removeProducts,
  updateProduct,
} from "../../store/metadata/products/products.js";
import {
  codeField,
  createBody,
  editBody,
  fixedFields,
  name,
  present,
  refuseChanged,
  textField,
} from "../http/fields.js";
import { listCodes } from "../http/labels.js";
import { type Route, route } from "../http/route.js";
import {
  idParams,
  intOrNull,
  intSchema,
  recordID,
  stampOrNull,
  stampText,
  textOrNull,
} from "../http/schemas.js";
import { viewContext } from "../views/context.js";
import {
  type ProductRow,
  productDetail,
  productListed,
  productStored,
  productTruncated,
} from "../views/products.js";
import type { AppDeps } from "./deps.js";
import { type ResourceRequest, resourceRoutes } from "./resource.js";
import { pageWithDevices } from "./shown-devices.js";

const fixed = ["productID", "cloudProtocol"] as const;
const tag = "Products";
const mqtt = 1;

const createA = createBody(
  { productName: name, cloudProtocol: codeField(...listCodes("cloudProtocol")) },
  { description: textField },
).openapi("ProductCreate");
const createB = createBody({ productName: name, description: textField }, {}).openapi("ProductCreateB");
const edit = editBody({ productName: name }, { description: textField })
  .extend(fixedFields(fixed))
  .openapi("ProductEdit");

const common = z.object({
  id: intSchema,
  productID: z.string(),
  productName: z.string(),
  description: textOrNull,
  createAt: stampText,
  updateAt: stampOrNull,
});
const stored = common.extend({ cloudProtocol: intSchema }).openapi("ProductStored");
const shown = stored.extend({ cloudProtocolLabel: z.string(), deviceCount: intSchema });
const detail = shown.extend({ createUser: textOrNull }).openapi("ProductDetail");
const listed = shown
  .extend({
    appCount: intSchema,
    dataPointCount: intOrNull,
    dataStreamCount: intOrNull,
    itemCount: intOrNull,
  })
  .openapi("Product");
const storedB = common.extend({ devices: z.array(recordID), userIntID: intOrNull }).openapi("ProductStoredB");
const listedB = storedB.extend({ deviceCount: intSchema }).openapi("ProductB");
const detailB = listedB.extend({ createUser: textOrNull }).openapi("ProductDetailB");

export function productRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<ProductRow>({
      path: "/api/v1/products",
      tag,
      summary: "List products",
      filters: productFilters,
      aliases: { pruductName_like: "productName" },
      schema: listed,
      schemaB: listedB,
      list: async (asking, request) => {
        const page = await listProducts(db, asking.caller.tenant, request, asking.variant === "B");
        const withOwn = (rows: typeof page.items) => withDevices(db, asking, rows);
        return pageWithDevices(page, withOwn, productTruncated);
      },
      view: productListed,
    }),
    routes.detail<ProductRow>({
      path: "/api/v1/products/{id}",
      tag,
      summary: "One product",
      ids: productIDs,
      schema: detail,
      schemaB: detailB,
      get: async (asking, id) => {
        const product = await getProduct(db, asking.caller.tenant, id);
        return (await withDevices(db, asking, [product]))[0] ?? product;
      },
      view: productDetail,
      truncated: productTruncated,
    }),
    createRoute(deps),
    editRoute(deps, routes.find),
    routes.remove({
      path: "/api/v1/products",
      tag,
      summary: "Delete products and what they own",
      ids: productIDs,
      remove: ({ caller }, ids) => removeProducts(db, caller, now(), ids),
    }),
  ];
}

function createRoute(deps: AppDeps): Route {
  const { db, now } = deps;
  return route(
    {
      method: "post",
      path: "/api/v1/products",
      access: "write",
      tag,
      summary: "Create a product",
      shape: { body: createA },
      answer: { status: 201, schema: stored },
      errors: ["DATA_EXISTED"],
      handle: async (input) => {
        const { productName, cloudProtocol, description = null } = input.body;
        const fields = { productName, cloudProtocol, description };
        return answer(deps, 201, input, await createProduct(db, input.caller, now(), fields));
      },
    },
    {
      shape: { body: createB },
      answer: { status: 201, schema: storedB },
      handle: async (input) => {
        const fields = { ...input.body, cloudProtocol: mqtt };
        return answer(deps, 201, input, await createProduct(db, input.caller, now(), fields));
      },
    },
  );
}

function editRoute(deps: AppDeps, find: ReturnType<typeof resourceRoutes>["find"]): Route {
  const { db, now } = deps;
  return route({
    method: "put",
    path: "/api/v1/products/{id}",
    access: "write",
    tag,
    summary: "Edit a product",
    shape: { params: idParams, body: edit },
    answer: { status: 200, schema: z.union([stored, storedB]) },
    errors: ["DATA_EXISTED"],
    handle: async (input) => {
      const { caller, body } = input;
      const id = await find(input, productIDs, input.params.id);
      refuseChanged(body, await getProduct(db, caller.tenant, id), fixed);
      const { productName, description } = body;
      const fields = present({ productName, description });
      return answer(deps, 200, input, await updateProduct(db, caller, now(), id, fields));
    },
  });
}

/** Variant B shows the devices of a product. */
async function withDevices(
  db: Db,
  asking: ResourceRequest,
  products: readonly Product[],
): Promise<ProductRow[]> {
  if (asking.variant === "A") return [...products];
  const ids = products.map(({ id }) => id);
  const devices = await devicesOfProducts(db, ids);
  return products.map((product) => ({ ...product, devices: devices.get(product.id) ?? [] }));
}

async function answer(
  { db }: Pick<AppDeps, "db">,
  status: 200 | 201,
  asking: ResourceRequest,
  product: Product,
) {
  const [row = product] = await withDevices(db, asking, [product]);
  const headers = productTruncated(row) ? { Truncated: "true" } : {};
  return { status, body: productStored(row, viewContext(asking)), headers };
}
