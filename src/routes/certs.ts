import { z } from "@hono/zod-openapi";
import {
  type Cert,
  type CertListed,
  certFilters,
  certIDs,
  createCert,
  getCert,
  listCerts,
  removeCerts,
  updateCert,
} from "../../store/metadata/policies/certs.js";
import { newCommonName } from "../certificates/authority.js";
import { codeField, createBody, editBody, name, present } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { idParams, intSchema, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import { certDetail, certListed, certStored } from "../views/certs.js";
import { viewContext } from "../views/context.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const tag = "Certificates";
const fields = { name, enable: codeField(0, 1) };

const create = createBody(fields, {}).openapi("CertCreate");
const edit = editBody(fields, {}).openapi("CertEdit");

const pem = (what: string) =>
  z.string().openapi({ description: `PEM text of ${what}`, example: "-----BEGIN CERTIFICATE-----\n…" });
export const certItem = z
  .object({ id: intSchema, name: z.string(), enable: intSchema, createAt: stampText })
  .openapi("Cert");
const stored = certItem
  .extend({
    CN: z.string().openapi({ example: "Ck3tZ81Qx:0f9s3l5m2n7q4r6t8v1w3x5y7z" }),
    cert: pem("the certificate"),
    key: textOrNull.openapi({ description: "PEM text of the private key; null for viewers" }),
    root: pem("the authority's certificate"),
    updateAt: stampOrNull,
  })
  .openapi("CertStored");
const detail = stored.extend({ createUser: textOrNull }).openapi("CertDetail");

export function certRoutes(deps: AppDeps): Route[] {
  const { db, devices: store, authority, now } = deps;
  const routes = resourceRoutes(deps);
  return [
    routes.list<CertListed>({
      path: "/api/v1/certs",
      tag,
      summary: "List certificates",
      filters: certFilters,
      secret: ["key"],
      schema: certItem,
      list: ({ caller }, request) => listCerts(db, caller.tenant, request),
      view: certListed,
    }),
    routes.detail<Cert>({
      path: "/api/v1/certs/{id}",
      tag,
      summary: "One certificate with its texts",
      ids: certIDs,
      schema: detail,
      get: ({ caller }, id) => getCert(store, caller.tenant, id),
      view: certDetail,
    }),
    route({
      method: "post",
      path: "/api/v1/certs",
      access: "write",
      tag,
      summary: "Make a key pair and a certificate signed by the deployment's authority",
      shape: { body: create },
      answer: { status: 201, schema: detail },
      errors: ["DATA_EXISTED", "SERVICE_UNAVAILABLE"],
      handle: async (input) => {
        const { caller, body } = input;
        const at = now();
        const CN = newCommonName(caller.tenantID);
        const cert = { ...body, CN, ...(await authority.issue(CN, at)) };
        const made = await createCert(store, caller, at, cert);
        return { status: 201, body: certDetail(made, viewContext(input)) };
      },
    }),
    route({
      method: "put",
      path: "/api/v1/certs/{id}",
      access: "write",
      tag,
      summary: "Rename a certificate, allow or forbid its use",
      shape: { params: idParams, body: edit },
      answer: { status: 200, schema: stored },
      errors: ["DATA_EXISTED"],
      handle: async (input) => {
        const { caller, body } = input;
        const id = await routes.find(input, certIDs, input.params.id);
        const cert = await updateCert(store, caller, now(), id, present(body));
        return { status: 200, body: certStored(cert, viewContext(input)) };
      },
    }),
    routes.remove({
      path: "/api/v1/certs",
      tag,
      summary: "Delete certificates that no device is bound to",
      ids: certIDs,
      remove: ({ caller }, ids) => removeCerts(db, caller, now(), ids),
    }),
  ];
}
