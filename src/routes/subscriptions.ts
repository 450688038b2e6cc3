import { z } from "@hono/zod-openapi";
import { isTopicFilter } from "../../ingest/messages/topics.js";
import type { IDTable } from "../../store/metadata/db/table.js";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import { groupIDs } from "../../store/metadata/groups/groups.js";
import {
  createSubscription,
  listSubscriptions,
  removeSubscriptions,
  type Subscription,
  type SubscriptionOwner,
  subscriptionFilters,
  subscriptionIDs,
} from "../../store/metadata/policies/subscriptions.js";
import { productIDs } from "../../store/metadata/products/products.js";
import { resourceLimited } from "../http/errors.js";
import { createBody, integerField } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { idParams, intSchema, stampOrNull, stampText } from "../http/schemas.js";
import { viewContext } from "../views/context.js";
import { subscriptionShown } from "../views/subscriptions.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Subscriptions";
const qosDefault = 1;

const topic = z
  .string()
  .max(1024)
  .refine((text) => text.isWellFormed() && isTopicFilter(text), "must be a topic filter")
  .openapi({ example: "alarms/#" });

const create = createBody({ topic }, { qos: integerField(0, 2) }).openapi("SubscriptionCreate");

const shown = z
  .object({ id: intSchema, topic: z.string(), qos: intSchema, createAt: stampText, updateAt: stampOrNull })
  .openapi("Subscription");

/** The possible owners of subscriptions; those of groups and products reach every member. */
const owners: readonly {
  readonly path: string;
  readonly what: string;
  readonly column: SubscriptionOwner["column"];
  readonly ids: IDTable;
}[] = [
  { path: "devices", what: "device", column: "deviceIntID", ids: anyDeviceIDs },
  { path: "groups", what: "group", column: "groupIntID", ids: groupIDs },
  { path: "products", what: "product", column: "productIntID", ids: productIDs },
];

export function subscriptionRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return owners.flatMap(({ path: collection, what, column, ids }) => {
    const path = `/api/v1/${collection}/{id}/subscriptions`;
    return [
      routes.list<Subscription>({
        path,
        tag,
        summary: `List the subscriptions of a ${what}`,
        filters: subscriptionFilters,
        schema: shown,
        parent: ids,
        list: ({ caller }, request, id) => listSubscriptions(db, caller.tenant, request, { column, id }),
        view: subscriptionShown,
      }),
      route({
        method: "post",
        path,
        access: "write",
        tag,
        summary: `Subscribe a ${what} to a topic`,
        shape: { params: idParams, body: create },
        answer: { status: 201, schema: shown },
        errors: ["DATA_EXISTED", "RESOURCE_LIMITED"],
        handle: async (input) => {
          const { caller, body } = input;
          const owner = { column, id: await routes.find(input, ids, input.params.id) };
          const fields = { topic: body.topic, qos: body.qos ?? qosDefault };
          const made = await createSubscription(db, caller, now(), owner, fields).catch(resourceLimited);
          return { status: 201, body: subscriptionShown(made, viewContext(input)) };
        },
      }),
      routes.remove({
        path,
        tag,
        summary: `Remove subscriptions of a ${what}`,
        ids: subscriptionIDs,
        parent: ids,
        errors: [],
        remove: ({ caller }, removed, id) => removeSubscriptions(db, caller, now(), { column, id }, removed),
      }),
    ];
  });
}
