import { z } from "@hono/zod-openapi";
import { newSecret } from "../../store/metadata/db/ids.js";
import { listTenants, type Tenant } from "../../store/metadata/users/tenants.js";
import { createTenantWithAdmin } from "../host/first-start.js";
import { requireDeployment } from "../http/caller.js";
import { createBody, name } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { intSchema, stampText } from "../http/schemas.js";
import type { Stamped } from "../views/context.js";
import type { AppDeps } from "./deps.js";

const tag = "Callers";
const schema = z
  .object({ id: intSchema, tenantID: z.string(), tenantName: z.string(), createAt: stampText })
  .openapi("Tenant");

const create = createBody({ tenantName: name, username: name }, {}).openapi("TenantCreate");

function view(tenant: Tenant, { stamp }: Stamped) {
  return { ...tenant, createAt: stamp(tenant.createAt) };
}

export function tenantRoutes({ db, now }: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/tenants",
      access: "admin",
      tag,
      summary: "Every tenant of the deployment",
      answer: { status: 200, schema: z.array(schema) },
      handle: async ({ caller, writing }) => {
        requireDeployment(caller);
        return { status: 200, body: (await listTenants(db)).map((tenant) => view(tenant, writing)) };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/tenants",
      access: "admin",
      tag,
      summary: "Make a tenant with its first admin; the password is shown this once",
      shape: { body: create },
      answer: { status: 201, schema: schema.extend({ username: z.string(), password: z.string() }) },
      errors: ["DATA_EXISTED", "SERVICE_UNAVAILABLE"],
      handle: async ({ caller, body, writing }) => {
        requireDeployment(caller);
        const password = newSecret();
        const made = await createTenantWithAdmin(db, now(), body.tenantName, body.username, password, caller);
        return { status: 201, body: { ...view(made.tenant, writing), username: body.username, password } };
      },
    }),
  ];
}
