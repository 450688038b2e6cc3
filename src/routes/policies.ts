import { z } from "@hono/zod-openapi";
import { isTopicFilter } from "../../ingest/messages/topics.js";
import {
  createPolicy,
  getPolicy,
  listPolicies,
  type Policy,
  policyFilters,
  policyIDs,
  removePolicies,
  updatePolicy,
} from "../../store/metadata/policies/policies.js";
import { codeField, createBody, editBody, name, present, textField } from "../http/fields.js";
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
import { policyDetail, policyListed, policyStored, policyTruncated } from "../views/policies.js";
import type { AppDeps } from "./deps.js";
import { type ResourceRequest, resourceRoutes } from "./resource.js";

const tag = "Policies";

const required = {
  name,
  topic: z
    .string()
    .max(1024)
    .refine(isTopicFilter, "must be a topic filter")
    .openapi({ description: "a topic filter; %d is the deviceID, %u the deviceUsername", example: "%d/+/#" }),
  access: codeField(...listCodes("access")),
  allow: codeField(...listCodes("allow")),
};
const optional = { description: textField };
const create = createBody(required, optional).openapi("PolicyCreate");
const edit = editBody(required, optional).openapi("PolicyEdit");

const stored = z
  .object({
    id: intSchema,
    name: z.string(),
    topic: z.string(),
    access: intSchema,
    allow: intSchema,
    description: textOrNull,
    mqtt_acl: z.array(recordID),
    userIntID: intOrNull,
    createAt: stampText,
    updateAt: stampOrNull,
  })
  .openapi("PolicyStored");
export const policyListedSchema = stored
  .extend({ accessLabel: z.string(), allowLabel: z.string() })
  .openapi("Policy");
const detail = policyListedSchema.extend({ createUser: textOrNull }).openapi("PolicyDetail");

export function policyRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  const answer = (status: 200 | 201, asking: ResourceRequest, policy: Policy) => ({
    status,
    body: policyStored(policy, viewContext(asking)),
    headers: policyTruncated(policy) ? { Truncated: "true" } : ({} as Record<string, string>),
  });

  return [
    routes.list<Policy>({
      path: "/api/v1/policies",
      tag,
      summary: "List policies",
      filters: policyFilters,
      schema: policyListedSchema,
      list: async ({ caller }, request) => {
        const page = await listPolicies(db, caller.tenant, request);
        return { ...page, truncated: page.items.some(policyTruncated) };
      },
      view: policyListed,
    }),
    routes.detail<Policy>({
      path: "/api/v1/policies/{id}",
      tag,
      summary: "One policy",
      ids: policyIDs,
      schema: detail,
      get: ({ caller }, id) => getPolicy(db, caller.tenant, id),
      view: policyDetail,
      truncated: policyTruncated,
    }),
    route({
      method: "post",
      path: "/api/v1/policies",
      access: "write",
      tag,
      summary: "Create a topic access rule",
      shape: { body: create },
      answer: { status: 201, schema: stored },
      errors: ["DATA_EXISTED"],
      handle: async (input) => {
        const { description = null, ...rest } = input.body;
        return answer(201, input, await createPolicy(db, input.caller, now(), { ...rest, description }));
      },
    }),
    route({
      method: "put",
      path: "/api/v1/policies/{id}",
      access: "write",
      tag,
      summary: "Edit a topic access rule",
      shape: { params: idParams, body: edit },
      answer: { status: 200, schema: stored },
      errors: ["DATA_EXISTED"],
      handle: async (input) => {
        const id = await routes.find(input, policyIDs, input.params.id);
        return answer(200, input, await updatePolicy(db, input.caller, now(), id, present(input.body)));
      },
    }),
    routes.remove({
      path: "/api/v1/policies",
      tag,
      summary: "Delete policies with their bindings",
      ids: policyIDs,
      errors: [],
      remove: ({ caller }, ids) => removePolicies(db, caller, now(), ids),
    }),
  ];
}
