import { z } from "@hono/zod-openapi";
import { type Page, resolveIDs } from "../../store/metadata/db/table.js";
import {
  type BindableDevice,
  bindableDevices,
  bindableFilters,
  boundDevices,
  boundFilters,
} from "../../store/metadata/devices/bound-devices.js";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import { bind, policyDevices, unbind } from "../../store/metadata/policies/bindings.js";
import {
  type Policy,
  policiesNotOfDevice,
  policiesOfDevice,
  policyFilters,
  policyIDs,
} from "../../store/metadata/policies/policies.js";
import { listQuery, pageRequest } from "../http/list-query.js";
import { pageAnswer } from "../http/paging.js";
import { type Route, route } from "../http/route.js";
import { idParams, intSchema, pageSchema, textOrNull } from "../http/schemas.js";
import { viewContext } from "../views/context.js";
import { bindableDevice, boundDevice, policyListed, policyTruncated } from "../views/policies.js";
import { idArray, recordIDArray } from "./bound-ids.js";
import type { AppDeps } from "./deps.js";
import { policyListedSchema } from "./policies.js";
import { resourceRoutes } from "./resource.js";

const tag = "Policies";
const ofPolicy = "/api/v1/policies/{id}/devices";
const ofDevice = "/api/v1/devices/{id}/policies";

const bound = z
  .object({ id: intSchema, deviceID: z.string(), deviceName: z.string(), deviceTypeLabel: textOrNull })
  .openapi("PolicyDevice");
const bindable = z
  .object({ id: intSchema, deviceName: z.string(), productName: z.string() })
  .openapi("BindableDevice");

const bindDevices = z.object({ devicesIntID: recordIDArray.nullable().optional() }).openapi("PolicyDevices");
const bindPolicies = z.object({ ids: idArray.nullable().optional() }).openapi("DevicePolicies");

const truncated = (page: Page<Policy>): Page<Policy> => ({
  ...page,
  truncated: page.items.some(policyTruncated),
});

/** Which devices and gateways a policy is bound to, seen from either end. */
export function policyBindingRoutes(deps: AppDeps): Route[] {
  return [...fromPolicy(deps), ...fromDevice(deps)];
}

function fromPolicy(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<BindableDevice>({
      path: ofPolicy,
      tag,
      summary: "Devices that a policy is bound to",
      parent: policyIDs,
      filters: boundFilters,
      schema: bound,
      list: ({ caller }, request, policy) => boundDevices(db, policyDevices, caller.tenant, request, policy),
      view: boundDevice,
    }),
    routes.list<BindableDevice>({
      path: "/api/v1/platform_select/policies/{id}/not_joined_devices",
      tag,
      summary: "Devices that a policy can still be bound to",
      parent: policyIDs,
      filters: bindableFilters,
      schema: bindable,
      list: ({ caller }, request, policy) =>
        bindableDevices(db, policyDevices, caller.tenant, request, policy),
      view: bindableDevice,
    }),
    route({
      method: "post",
      path: ofPolicy,
      access: "write",
      tag,
      summary: "Bind a policy to devices",
      shape: { params: idParams, body: bindDevices },
      answer: { status: 201 },
      errors: ["DATA_NOT_FOUND"],
      handle: async (input) => {
        const { caller, body } = input;
        const policy = await routes.find(input, policyIDs, input.params.id);
        const byRecordID = { ...anyDeviceIDs, column: null };
        const devices = await resolveIDs(db, byRecordID, caller.tenant, body.devicesIntID ?? []);
        await bind(db, caller, now(), policyDevices, { owners: [policy], devices });
        return { status: 201 };
      },
    }),
    routes.remove({
      path: ofPolicy,
      tag,
      summary: "Unbind a policy from devices",
      parent: policyIDs,
      ids: anyDeviceIDs,
      errors: [],
      remove: ({ caller }, devices, policy) =>
        unbind(db, caller, now(), policyDevices, { owners: [policy], devices }),
    }),
  ];
}

function fromDevice(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<Policy>({
      path: ofDevice,
      tag,
      summary: "Policies bound to a device",
      parent: anyDeviceIDs,
      filters: policyFilters,
      schema: policyListedSchema,
      list: async ({ caller }, request, device) =>
        truncated(await policiesOfDevice(db, caller.tenant, request, device)),
      view: policyListed,
    }),
    routes.list<Policy>({
      path: "/api/v1/platform_select/devices/{id}/not_joined_policies",
      tag,
      summary: "Policies that can still be bound to a device",
      parent: anyDeviceIDs,
      filters: policyFilters,
      schema: policyListedSchema,
      list: async ({ caller }, request, device) =>
        truncated(await policiesNotOfDevice(db, caller.tenant, request, device)),
      view: policyListed,
    }),
    route({
      method: "post",
      path: ofDevice,
      access: "write",
      tag,
      summary: "Bind policies to a device; answers a page of the device's policies",
      shape: { params: idParams, query: listQuery({ filters: {} }), body: bindPolicies },
      answer: { status: 201, schema: pageSchema(policyListedSchema) },
      errors: ["DATA_NOT_FOUND"],
      handle: async (input) => {
        const { caller, body } = input;
        const request = pageRequest(input.query, { filters: {} }, deps.zone);
        const device = await routes.find(input, anyDeviceIDs, input.params.id);
        const owners = await resolveIDs(db, policyIDs, caller.tenant, body.ids ?? []);
        await bind(db, caller, now(), policyDevices, { owners, devices: [device] });
        const page = truncated(await policiesOfDevice(db, caller.tenant, request, device));
        const context = viewContext(input);
        return {
          ...(await pageAnswer(page, request, (policy) => policyListed(policy, context))),
          status: 201,
        };
      },
    }),
    routes.remove({
      path: ofDevice,
      tag,
      summary: "Unbind policies from a device",
      parent: anyDeviceIDs,
      ids: policyIDs,
      errors: [],
      remove: ({ caller }, owners, device) =>
        unbind(db, caller, now(), policyDevices, { owners, devices: [device] }),
    }),
  ];
}
