import { z } from "@hono/zod-openapi";
import type { Db } from "../../store/metadata/db/db.js";
import {
  createGroup,
  devicesOfGroups,
  type Group,
  getGroup,
  groupFilters,
  groupIDs,
  listGroups,
  removeGroups,
  updateGroup,
} from "../../store/metadata/groups/groups.js";
import { invalid } from "../http/errors.js";
import {
  createBody,
  editBody,
  fixedFields,
  integerField,
  name,
  present,
  refuseChanged,
  textField,
} from "../http/fields.js";
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
import { type GroupRow, groupDetail, groupListed, groupStored, groupTruncated } from "../views/groups.js";
import type { AppDeps } from "./deps.js";
import { requireProduct } from "./product-ref.js";
import { type ResourceRequest, resourceRoutes } from "./resource.js";
import { pageWithDevices } from "./shown-devices.js";

const fixed = ["groupID", "productID", "productIntID"] as const;
const tag = "Groups";

/** Either of the two names the product. */
const owner = { productID: z.string(), productIntID: integerField(1) };
const createA = createBody({ groupName: name }, { description: textField, ...owner }).openapi("GroupCreate");
const createB = createBody({ groupName: name, description: textField }, owner).openapi("GroupCreateB");
const edit = editBody({ groupName: name }, { description: textField })
  .extend(fixedFields(fixed))
  .openapi("GroupEdit");

const stored = z
  .object({
    id: intSchema,
    groupID: z.string(),
    groupName: z.string(),
    description: textOrNull,
    productID: z.string(),
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("GroupStored");
const named = stored.extend({ productName: z.string() });
const listed = named.extend({ deviceCount: intSchema }).openapi("Group");
const detail = named.extend({ createUser: textOrNull }).openapi("GroupDetail");
const storedB = stored.extend({ devices: z.array(recordID), userIntID: intOrNull }).openapi("GroupStoredB");
const listedB = storedB.extend({ productName: z.string() }).openapi("GroupB");
const detailB = listedB.extend({ createUser: textOrNull }).openapi("GroupDetailB");

type CreateBody = z.output<typeof createA> | z.output<typeof createB>;

export function groupRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<GroupRow>({
      path: "/api/v1/groups",
      tag,
      summary: "List groups",
      filters: groupFilters,
      schema: listed,
      schemaB: listedB,
      list: async (asking, request) => {
        const page = await listGroups(db, asking.caller.tenant, request);
        const withOwn = (rows: typeof page.items) => withDevices(db, asking, rows);
        return pageWithDevices(page, withOwn, groupTruncated);
      },
      view: groupListed,
    }),
    routes.detail<GroupRow>({
      path: "/api/v1/groups/{id}",
      tag,
      summary: "One group",
      ids: groupIDs,
      schema: detail,
      schemaB: detailB,
      get: async (asking, id) => {
        const group = await getGroup(db, asking.caller.tenant, id);
        return (await withDevices(db, asking, [group]))[0] ?? group;
      },
      view: groupDetail,
      truncated: groupTruncated,
    }),
    createRoute(deps),
    editRoute(deps, routes.find),
    routes.remove({
      path: "/api/v1/groups",
      tag,
      summary: "Delete groups with their memberships, subscriptions and schedules",
      ids: groupIDs,
      errors: [],
      remove: ({ caller }, ids) => removeGroups(db, caller, now(), ids),
    }),
  ];
}

function createRoute(deps: AppDeps): Route {
  const { db, now } = deps;
  const create = async (input: ResourceRequest & { readonly body: CreateBody }) => {
    const { caller, body } = input;
    const { groupName, description = null, productID, productIntID } = body;
    if (!productID && !productIntID) throw invalid({ productID: "is required" });
    const product = await requireProduct(db, caller.tenant, { productID, productIntID });
    const fields = { groupName, description, productIntID: product.id };
    return answer(deps, 201, input, await createGroup(db, caller, now(), fields));
  };
  return route(
    {
      method: "post",
      path: "/api/v1/groups",
      access: "write",
      tag,
      summary: "Create a group of devices of one product, named by productID or productIntID",
      shape: { body: createA },
      answer: { status: 201, schema: stored },
      errors: ["DATA_EXISTED"],
      handle: create,
    },
    { shape: { body: createB }, answer: { status: 201, schema: storedB }, handle: create },
  );
}

function editRoute(deps: AppDeps, find: ReturnType<typeof resourceRoutes>["find"]): Route {
  const { db, now } = deps;
  return route({
    method: "put",
    path: "/api/v1/groups/{id}",
    access: "write",
    tag,
    summary: "Edit a group",
    shape: { params: idParams, body: edit },
    answer: { status: 200, schema: z.union([stored, storedB]) },
    errors: ["DATA_EXISTED"],
    handle: async (input) => {
      const { caller, body } = input;
      const id = await find(input, groupIDs, input.params.id);
      refuseChanged(body, await getGroup(db, caller.tenant, id), fixed);
      const { groupName, description } = body;
      const fields = present({ groupName, description });
      return answer(deps, 200, input, await updateGroup(db, caller, now(), id, fields));
    },
  });
}

/** Variant B shows the devices of a group. */
async function withDevices(db: Db, asking: ResourceRequest, groups: readonly Group[]): Promise<GroupRow[]> {
  if (asking.variant === "A") return [...groups];
  const ids = groups.map(({ id }) => id);
  const devices = await devicesOfGroups(db, ids);
  return groups.map((group) => ({ ...group, devices: devices.get(group.id) ?? [] }));
}

async function answer({ db }: Pick<AppDeps, "db">, status: 200 | 201, asking: ResourceRequest, group: Group) {
  const [row = group] = await withDevices(db, asking, [group]);
  const headers: Record<string, string> = groupTruncated(row) ? { Truncated: "true" } : {};
  return { status, body: groupStored(row, viewContext(asking)), headers };
}
