/** What a contact point's settings may be, by type; some of them are secrets, which are taken and never answered. */
import { z } from "@hono/zod-openapi";
import { isTopicName } from "../../ingest/messages/topics.js";
import { withoutControls } from "../../store/lib/control-characters.js";
import { mailAddressForm, mailboxForm } from "../../store/lib/mail-addresses.js";
import type {
  ContactPoint,
  ContactType,
  Secrets,
} from "../../store/metadata/notifications/contact-points.js";
import { invalid } from "../http/errors.js";
import { codeField, integerField, parseWith } from "../http/fields.js";

/** One line, as headers and commands of SMTP are. */
const line = (max: number) =>
  z.string().min(1, "must not be empty").max(max).regex(withoutControls, "must not hold control characters");

const secret = line(1024).openapi({ description: "taken, never answered" });

function isURLWithProtocol(text: string, protocols: readonly string[]): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hostname } = new URL(text);
  return protocols.includes(protocol) && hostname !== "" && username === "" && password === "";
}

const webURL = line(2048)
  .refine(
    (text) => isURLWithProtocol(text, ["http:", "https:"]),
    "must be an http or https address without credentials",
  )
  .openapi({ description: "taken, never answered, for it may hold a token; `address` shows its origin" });

const brokerURL = line(512)
  .refine(
    (text) => isURLWithProtocol(text, ["mqtt:", "mqtts:"]) && /^mqtts?:\/\/[^/?#]+\/?$/.test(text),
    "must be mqtt://host:port or mqtts://host:port",
  )
  .openapi({ example: "mqtts://broker.example.com:8883" });

/** A name without dots cannot be that of another header; those of the connection and of Tidemark are its own. */
const headerName =
  /^(?!(?:host|content-.*|connection|transfer-encoding|upgrade|te|trailer|expect|webhook-.*|authorization|user-agent|keep-alive|proxy-.*)$)[a-z0-9!#$%&'*+.^_`|~-]{1,64}$/i;
const headers = z
  .record(z.string().regex(headerName, "is no name of a header that may be chosen"), line(1024))
  .refine((all) => Object.keys(all).length <= 20, "must be at most 20")
  .openapi({ description: "further headers; taken, never answered" });

const mailAddress = line(320).regex(mailAddressForm, "must be a mail address without quotes or comments");
const sender = line(320).regex(mailboxForm, "must be a mail address, or a name with one in angle brackets");
const hostName = line(253).regex(/^[A-Za-z0-9._:-]+$/, "must be a host name or an address");
const topic = z.string().max(1024).refine(isTopicName, "must be a topic without wildcard");

const webhookShown = {
  /** May be sent back as read. */
  address: z.unknown().optional(),
  contentType: line(128)
    .regex(/^[\w.+-]+\/[\w.+-]+(?:; ?charset=[\w-]+)?$/, "must be a media type")
    .default("application/json"),
};
const webhookSecrets = { url: webURL, secret: line(256).min(16), authorization: secret, headers };
const emailShown = {
  to: z.array(mailAddress).min(1).max(50),
  from: sender.nullable().default(null),
  server: z
    .strictObject({
      host: hostName,
      port: integerField(1, 65_535),
      security: z.enum(["tls", "starttls", "none"]).default("starttls"),
      username: line(320).nullable().default(null),
    })
    .nullable()
    .default(null)
    .openapi({ description: "absent or null: the deployment's, SMTP_URL" }),
};
const brokerShown = {
  url: brokerURL,
  topic,
  qos: codeField(0, 1).default(1),
  username: line(256).nullable().default(null),
  clientID: line(64).nullable().default(null),
};
const password = { password: secret };

const nullishAll = <S extends Record<string, z.ZodType>>(shape: S) =>
  Object.fromEntries(Object.entries(shape).map(([name, schema]) => [name, schema.nullish()])) as {
    [K in keyof S]: z.ZodOptional<z.ZodNullable<S[K]>>;
  };

const schemas = {
  webhook: z.strictObject({ ...webhookShown, ...nullishAll(webhookSecrets) }).openapi("WebhookSettings"),
  email: z.strictObject({ ...emailShown, ...nullishAll(password) }).openapi("EmailSettings"),
  device: z
    .strictObject({ deviceIntID: integerField(1), topic })
    .openapi("DeviceTopicSettings", { description: "a topic that a device of the tenant gets as a command" }),
  broker: z
    .strictObject({ ...brokerShown, ...nullishAll(password) })
    .openapi("BrokerTopicSettings", { description: "a topic of another broker" }),
} as const;

/** For the reference. */
export const settingsSchema = z.union([schemas.webhook, schemas.email, schemas.device, schemas.broker]);

const secretFields = new Set(["url", "secret", "authorization", "headers", "password"]);
const isSecret = (type: ContactType, field: string): boolean =>
  secretFields.has(field) && !(type === "mqtt" && field === "url");

type Known = Pick<ContactPoint, "settings"> & { readonly secrets: Secrets };

/** Settings as they are stored: what is shown, and what is sealed. */
interface ReadSettings {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly secrets: Secrets;
}

/**
 * Reads what was sent. Secrets that are left out keep their values, unless the address changes: whoever may edit a
 * contact point must not learn its secrets by having them sent elsewhere.
 * @param known what is stored; null: nothing yet
 * @param ownSender who the deployment's mail server sends as; null: it has none
 * @throws ApiError PARAMETER_INVALID
 */
export function readSettings(
  type: ContactType,
  sent: Record<string, unknown>,
  known: Known | null,
  ownSender: string | null,
): ReadSettings {
  const schema = type === "mqtt" ? schemas["deviceIntID" in sent ? "device" : "broker"] : schemas[type];
  const parsed = parseSettings(schema, sent);
  const settings: Record<string, unknown> = {};
  const given: Record<string, string | null> = {};
  for (const [field, value] of Object.entries(parsed)) {
    if (!isSecret(type, field)) settings[field] = value;
    else if (value !== undefined) given[field] = toText(value);
  }
  const kept = Object.fromEntries(
    Object.entries(known?.secrets ?? {}).filter(([field]) => !(field in given)),
  );
  const set = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== null);
  const secrets = { ...kept, ...Object.fromEntries(set) };
  if (type === "email") checkSender(settings, ownSender);
  if (type === "webhook") settings.address = parseOrigin(secrets.url);
  if (known !== null && formatAddress({ settings, secrets }) !== formatAddress(known))
    refuseStoredSecrets(kept);
  return { settings, secrets };
}

const toText = (value: unknown): string | null =>
  value === null || typeof value === "string" ? value : JSON.stringify(value);

function parseSettings(schema: z.ZodType, sent: unknown): Record<string, unknown> {
  const parsed = parseWith(z.object({ settings: schema }), { settings: sent });
  return parsed.settings as Record<string, unknown>;
}

function parseOrigin(url: string | undefined): string {
  if (url === undefined) throw invalid({ "settings.url": "is required" });
  return new URL(url).origin;
}

/** Through the deployment's server a tenant sends as the deployment: its name is trusted by others. */
function checkSender({ server, from }: Readonly<Record<string, unknown>>, ownSender: string | null): void {
  if (server !== null || from === null || from === ownSender) return;
  throw invalid({ "settings.from": "must be left out, or SMTP_FROM, without a server of its own" });
}

/** Where secrets would go, and as whose. */
function formatAddress({ settings, secrets }: Known): string {
  const { url, username, server } = settings as {
    url?: string;
    username?: string | null;
    server?: { host: string; port: number; security: string; username: string | null } | null;
  };
  const ofServer = [server?.host, server?.port, server?.security, server?.username];
  return JSON.stringify([secrets.url, url, username, ...ofServer]);
}

function refuseStoredSecrets(kept: Readonly<Record<string, string>>): void {
  const names = Object.keys(kept);
  if (names.length === 0) return;
  const errors = names.map((name) => [
    `settings.${name}`,
    "must be given again, or null, for another address",
  ]);
  throw invalid(Object.fromEntries(errors));
}
