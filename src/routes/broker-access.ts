import { z } from "@hono/zod-openapi";
import { brokerDevices } from "../../store/metadata/devices/broker-devices.js";
import { dynamicSecurity } from "../brokers/mosquitto.js";
import { ownCredentials } from "../brokers/own-account.js";
import { type ApiCaller, isDeployment, requireDeployment } from "../http/caller.js";
import { ApiError } from "../http/errors.js";
import { type Route, route } from "../http/route.js";
import { intSchema } from "../http/schemas.js";
import type { AppDeps } from "./deps.js";

const tag = "Brokers";
const charactersMax = 65_535;
/** How many left-out names the log lists; the answer has all of them. */
const namedMax = 20;

/** EMQX writes `undefined` for a field that a client has not sent, or leaves it empty. */
const said = z
  .union([z.string().max(charactersMax), z.number(), z.boolean()])
  .nullish()
  .transform((value) => (value == null || value === "undefined" ? "" : String(value)));

const authBody = z
  .object({ username: said, password: said, clientid: said, peerhost: said, cert_common_name: said })
  .openapi("BrokerAuth");
const aclBody = z.object({ username: said, action: said, topic: said }).openapi("BrokerAcl");
const result = z.enum(["allow", "deny"]);
const mosquitto = z
  .object({
    config: z.looseObject({}),
    leftOut: z.array(z.string()).openapi({ description: "user names that are already another's" }),
    unwritten: z
      .object({
        devices: z.array(z.object({ deviceID: z.string(), deviceUsername: z.string() })),
        policies: z.array(z.object({ id: intSchema, topic: z.string() })),
      })
      .openapi({ description: "names and topics with %c or the like, which a broker puts names in for" }),
  })
  .openapi("MosquittoDynamicSecurity", {
    example: {
      config: {
        defaultACLAccess: {
          publishClientSend: false,
          publishClientReceive: false,
          subscribe: false,
          unsubscribe: true,
        },
        clients: [],
        groups: [],
        roles: [],
      },
      leftOut: [],
      unwritten: { devices: [], policies: [] },
    },
  });

/**
 * The forms in which EMQX 5 calls. A denial is a 200 as well, because EMQX takes no other status as an
 * answer.
 */
export function brokerAccessRoutes({ brokerAccess, config, devices, log, now }: AppDeps): Route[] {
  const ownTenant = (caller: ApiCaller): number | null => (isDeployment(caller) ? null : caller.tenant);
  const told = (allowed: boolean) => (allowed ? "allow" : "deny");
  return [
    route({
      method: "post",
      path: "/api/v1/broker/auth",
      access: "command",
      tag,
      summary: "Whether a client may connect to the external broker",
      shape: { body: authBody },
      answer: {
        status: 200,
        schema: z.object({ result, is_superuser: z.boolean() }).openapi("BrokerAuthResult"),
      },
      errors: ["SERVICE_UNAVAILABLE"],
      handle: async ({ caller, body, address }) => {
        const client = {
          username: body.username,
          password: body.password,
          clientID: body.clientid,
          address: body.peerhost || address,
          commonName: body.cert_common_name || null,
        };
        const allowed = await brokerAccess.mayConnect(client, ownTenant(caller));
        return { status: 200, body: { result: told(allowed), is_superuser: false } };
      },
    }),
    route({
      method: "post",
      path: "/api/v1/broker/acl",
      access: "command",
      tag,
      summary: "Whether a client may publish or subscribe at the external broker",
      shape: { body: aclBody },
      answer: { status: 200, schema: z.object({ result }).openapi("BrokerAclResult") },
      errors: ["SERVICE_UNAVAILABLE"],
      handle: async ({ caller, body: { username, action, topic } }) => {
        const known = action === "publish" || action === "subscribe";
        const asked = known ? brokerAccess.may({ username, action, topic }, ownTenant(caller)) : null;
        return { status: 200, body: { result: told((await asked) === true) } };
      },
    }),
    route({
      method: "get",
      path: "/api/v1/broker/mosquitto",
      access: "admin",
      tag,
      summary: "All devices and their rules as Mosquitto's dynamic security plugin takes them",
      answer: { status: 200, schema: mosquitto },
      errors: ["PERMISSION_DENIED", "PARAMETER_INVALID"],
      handle: async ({ caller }) => {
        requireDeployment(caller);
        const own = ownCredentials(config);
        if (own === null) {
          throw new ApiError("PARAMETER_INVALID", "the service has no BROKER_USERNAME and BROKER_PASSWORD");
        }
        const made = await dynamicSecurity(brokerDevices(devices, now()), own);
        for (const [part, all] of Object.entries(made.unwritten)) {
          if (all.length === 0) continue;
          const msg = `broker: ${part} with placeholders in their names or topics are left out of its rules`;
          log.warn(msg, { [part]: all.slice(0, namedMax), count: all.length });
        }
        return { status: 200, body: made };
      },
    }),
  ];
}
