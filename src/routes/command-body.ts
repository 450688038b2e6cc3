import { z } from "@hono/zod-openapi";
import { inboxTopic, isTopicName, isWithinBytes, type TopicBounds } from "../../ingest/messages/topics.js";
import { payloadBytesMax } from "../../ingest/uplinks/accept.js";
import {
  type CommandTarget,
  findGroupTarget,
  type GroupTarget,
  type TargetKey,
} from "../../store/metadata/commands/command-targets.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { ApiCaller } from "../http/caller.js";
import { ApiError, invalid } from "../http/errors.js";
import { codeField, integerField } from "../http/fields.js";

/** Fields that the bodies of commands and schedules share: the target and the content. */

const ttlDefault = 3600;
const ttlMax = 30 * 86_400;

const payload = z
  .string()
  .min(1, "must not be empty")
  .refine((text) => Buffer.byteLength(text) <= payloadBytesMax, `must be at most ${payloadBytesMax} bytes`);

const topic = z
  .string()
  .refine(isTopicName, "must be a topic without wildcard")
  .openapi({ description: `without wildcard; absent: ${inboxTopic}` });

/** Optional fields may also be null. */
export const commandFields = {
  payload,
  topic: topic.nullish(),
  qos: codeField(0, 1).nullish(),
  ttl: integerField(1, ttlMax)
    .openapi({ description: `seconds that it may wait; absent: ${ttlDefault}` })
    .nullish(),
};

export const commandDeviceFields = { deviceID: z.string().nullish(), deviceIntID: integerField().nullish() };
export const groupFields = { groupID: z.string().nullish(), groupIntID: integerField().nullish() };
/** 1: one message to each device, with receipts; 0: without, on the topic /groups/{groupID}/inbox. */
export const needAck = codeField(0, 1)
  .openapi({ description: "1: a message a device, with receipts; 0: none, on /groups/{groupID}/inbox" })
  .nullish();

type Nullish<T> = T | null | undefined;

interface SentCommand {
  readonly payload: string;
  readonly topic?: Nullish<string>;
  readonly qos?: Nullish<number>;
  readonly ttl?: Nullish<number>;
}

interface CommandSent {
  readonly topic: string;
  readonly payload: string;
  readonly qos: 0 | 1;
  readonly ttl: number;
}

/** The command's fields with their defaults. @throws ApiError PARAMETER_INVALID if the topic is beyond the bounds */
export function parseCommand(body: SentCommand, bounds: TopicBounds): CommandSent {
  const { ttl, topic: named } = body;
  if (named != null && !isWithinBytes(named, bounds)) {
    throw invalid({ topic: `may have ${bounds.bytesMax} bytes and ${bounds.levelsMax} levels` });
  }
  const qos = body.qos === 0 ? 0 : 1;
  return { topic: named ?? inboxTopic, payload: body.payload, qos, ttl: ttl ?? ttlDefault };
}

/** @throws ApiError PARAMETER_INVALID, DATA_NOT_FOUND */
export function deviceTarget(
  find: (tenant: number, key: TargetKey) => Promise<CommandTarget | undefined>,
  { tenant }: ApiCaller,
  { deviceID, deviceIntID }: { deviceID?: Nullish<string>; deviceIntID?: Nullish<number> },
): Promise<CommandTarget> {
  return findCommandTarget(["deviceID", "deviceIntID"], [deviceID, deviceIntID], {
    byText: (text) => find(tenant, { deviceID: text }),
    byID: (id) => find(tenant, { deviceIntID: id }),
  });
}

/** @throws ApiError PARAMETER_INVALID, DATA_NOT_FOUND */
export function groupTarget(
  db: Db,
  { tenant }: ApiCaller,
  { groupID, groupIntID }: { groupID?: Nullish<string>; groupIntID?: Nullish<number> },
): Promise<GroupTarget> {
  return findCommandTarget(["groupID", "groupIntID"], [groupID, groupIntID], {
    byText: (text) => findGroupTarget(db, tenant, { groupID: text }),
    byID: (id) => findGroupTarget(db, tenant, { groupIntID: id }),
  });
}

interface Finders<Target> {
  byText(text: string): Promise<Target | undefined>;
  byID(id: number): Promise<Target | undefined>;
}

/** If both names are given, they must mean the same record. */
async function findCommandTarget<Target extends { readonly id: number }>(
  [textField, idField]: readonly [string, string],
  [text, id]: readonly [Nullish<string>, Nullish<number>],
  find: Finders<Target>,
): Promise<Target> {
  const byText = text == null ? null : ((await find.byText(text)) ?? unknown(text));
  const byID = id == null ? null : ((await find.byID(id)) ?? unknown(String(id)));
  const target = byText ?? byID;
  if (target === null) throw invalid({ [textField]: `${textField} or ${idField} must be there` });
  if (byID !== null && byID.id !== target.id) throw invalid({ [idField]: `is not that of ${textField}` });
  return target;
}

function unknown(what: string): never {
  throw new ApiError("DATA_NOT_FOUND", `cannot find the record: ${what.slice(0, 100)}`);
}
