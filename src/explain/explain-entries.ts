/** What becomes of the entries of an envelope: each is a message of the device that it names. */
import type { DecodableMessage, DecodeRules } from "../../ingest/decode/points.js";
import type { Directory } from "../../ingest/directory/directory.js";
import {
  type EnvelopeEntry,
  entriesMax,
  parseEntries,
  payloadOfEntry,
} from "../../ingest/envelopes/entries.js";
import { type EntryMessage, findReplaced } from "../../ingest/envelopes/replaced.js";
import { createSlice } from "../../store/lib/scheduling.js";
import type { Db } from "../../store/metadata/db/db.js";
import { devicesBelow } from "../../store/metadata/devices/ingest.js";
import { explainPayload } from "./explain-payload.js";

/** Entries that an answer shows; each may show as many points as a message. */
export const entriesShownMax = 100;

type State = "carried" | "blocked" | "not carried" | "without DeviceID" | "too deep or too large";

type Below = Awaited<ReturnType<typeof devicesBelow>>[number];

interface EntriesDeps {
  readonly db: Db;
  readonly directory: Pick<Directory, "get">;
}

/** @param carrier record id of the sender */
export async function explainEntries(
  { db, directory }: EntriesDeps,
  carrier: number,
  message: DecodableMessage,
  rules: Omit<DecodeRules, "asOfReceipt">,
) {
  const below = new Map((await devicesBelow(db, carrier)).map((device) => [device.deviceID, device]));
  const all = parseEntries(message.payload);
  const shown: {
    readonly entry: EnvelopeEntry | null;
    readonly device: Below | undefined;
    readonly payload: Buffer | null;
  }[] = [];
  const messages: EntryMessage[] = [];
  const slice = createSlice();
  for (const [ordinal, entry] of all.slice(0, entriesMax).entries()) {
    if (slice.isOver()) await slice.next();
    const device = entry === null ? undefined : below.get(entry.deviceID);
    const isOpen = device !== undefined && device.blocked === 0;
    const payload = entry === null || !isOpen ? null : payloadOfEntry(entry, message.sentAt ?? null);
    if (device !== undefined && payload !== null) messages.push({ ordinal, device: device.id, payload });
    if (ordinal < entriesShownMax) shown.push({ entry, device, payload });
  }
  const replaced = await findReplaced(messages, message, (id) => directory.get(id), rules);
  const items = [];
  for (const [ordinal, { entry, device, payload }] of shown.entries()) {
    if (slice.isOver()) await slice.next();
    const child = device !== undefined && payload !== null ? await directory.get(device.id) : undefined;
    const own = { ...message, isEntry: true, replaced: replaced.get(ordinal) ?? null };
    const explained =
      child === undefined || payload === null
        ? null
        : await explainPayload(child, { ...own, payload }, rules);
    items.push({
      deviceID: entry === null ? null : entry.deviceID.slice(0, 64).toWellFormed(),
      deviceIntID: device?.id ?? null,
      state: entryState(entry !== null, device, payload !== null),
      points: explained?.points ?? [],
      refused: explained?.refused ?? [],
      unknownKeys: explained?.unknownKeys ?? [],
    });
  }
  return { items, count: all.length };
}

function entryState(
  isNamed: boolean,
  device: { readonly blocked: number } | undefined,
  fits: boolean,
): State {
  if (!isNamed) return "without DeviceID";
  if (device === undefined) return "not carried";
  if (device.blocked !== 0) return "blocked";
  return fits ? "carried" : "too deep or too large";
}
