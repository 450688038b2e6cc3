import { z } from "@hono/zod-openapi";
import { resolveIDs } from "../../store/metadata/db/table.js";
import {
  type BindableDevice,
  bindableDevices,
  bindableFilters,
  boundDevices,
  boundFilters,
} from "../../store/metadata/devices/bound-devices.js";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import { bind, certDevices, unbind } from "../../store/metadata/policies/bindings.js";
import {
  type CertListed,
  certFilters,
  certIDs,
  certsNotOfDevice,
  listCertsOfDevice,
} from "../../store/metadata/policies/certs.js";
import { createBody } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { idParams, intSchema, textOrNull } from "../http/schemas.js";
import { certListed } from "../views/certs.js";
import { bindableDevice, boundDevice } from "../views/policies.js";
import { idArray } from "./bound-ids.js";
import { certItem } from "./certs.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Certificates";
const path = "/api/v1/devices/{id}/certs";
/** How many certificates a form offers. */
const choicesMax = 1000;

const binding = createBody({ ids: idArray }, {}).openapi("DeviceCerts");

const bound = z
  .object({ id: intSchema, deviceID: z.string(), deviceName: z.string(), deviceTypeLabel: textOrNull })
  .openapi("CertDevice");
const bindable = z
  .object({ id: intSchema, deviceName: z.string(), productName: z.string() })
  .openapi("CertBindableDevice");
const choice = z.object({ label: z.string(), value: intSchema }).openapi("CertChoice");

export function certBindingRoutes(deps: AppDeps): Route[] {
  const { db, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<CertListed>({
      path,
      tag,
      summary: "List the certificates bound to a device",
      filters: certFilters,
      secret: ["key"],
      schema: certItem,
      parent: anyDeviceIDs,
      list: ({ caller }, request, device) => listCertsOfDevice(db, caller.tenant, request, device),
      view: certListed,
    }),
    route({
      method: "post",
      path,
      access: "write",
      tag,
      summary: "Bind certificates to a device",
      shape: { params: idParams, body: binding },
      answer: { status: 201 },
      errors: ["DATA_NOT_FOUND"],
      handle: async (input) => {
        const { caller, body } = input;
        const device = await routes.find(input, anyDeviceIDs, input.params.id);
        const certs = await resolveIDs(db, certIDs, caller.tenant, body.ids);
        await bind(db, caller, now(), certDevices, { owners: certs, devices: [device] });
        return { status: 201 };
      },
    }),
    routes.remove({
      path,
      tag,
      summary: "Unbind certificates from a device",
      ids: certIDs,
      parent: anyDeviceIDs,
      errors: [],
      remove: ({ caller }, certs, device) =>
        unbind(db, caller, now(), certDevices, { owners: certs, devices: [device] }),
    }),
    routes.list<BindableDevice>({
      path: "/api/v1/certs/{id}/devices",
      tag,
      summary: "List the devices that a certificate is bound to",
      filters: boundFilters,
      schema: bound,
      parent: certIDs,
      list: ({ caller }, request, cert) => boundDevices(db, certDevices, caller.tenant, request, cert),
      view: boundDevice,
    }),
    routes.list<BindableDevice>({
      path: "/api/v1/platform_select/certs/{id}/not_joined_devices",
      tag,
      summary: "List the devices that a certificate can still be bound to",
      filters: bindableFilters,
      schema: bindable,
      parent: certIDs,
      list: ({ caller }, request, cert) => bindableDevices(db, certDevices, caller.tenant, request, cert),
      view: bindableDevice,
    }),
    route({
      method: "get",
      path: "/api/v1/platform_select/devices/{id}/not_joined_certs",
      access: "read",
      tag,
      summary: `The newest certificates that can still be bound to a device, at most ${choicesMax}`,
      shape: { params: idParams },
      answer: { status: 200, schema: z.array(choice) },
      handle: async (input) => {
        const device = await routes.find(input, anyDeviceIDs, input.params.id);
        const certs = await certsNotOfDevice(db, input.caller.tenant, device, choicesMax);
        return { status: 200, body: certs.map(({ id, name }) => ({ label: name, value: id })) };
      },
    }),
  ];
}
