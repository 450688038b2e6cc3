/** The frames of devices that speak WebSocket without MQTT: JSON in text frames, the same in CBOR in binary ones. */
import { isUtf8 } from "node:buffer";
import { encode } from "cborg";
import { exactMember, membersOfJson, payloadOfJson, tooManyParts } from "../../clients/json-message.js";
import { decodePayload } from "../../clients/payloads.js";
import { bareJson } from "../../decode/bare-json.js";
import { readCbor } from "../../decode/cbor.js";
import { toPlain } from "../../decode/cbor-plain.js";
import { isWithinJsonBounds, jsonPartsMax } from "../../decode/json-bounds.js";
import { findTimeName } from "../../decode/time-names.js";

export type FrameFormat = "json" | "cbor";

/** What a client calls a frame; it is said back to it as it came. */
export type FrameID = number | string;

/** A frame of a client; a text says what is wrong with it. */
export type ClientFrame =
  | { readonly kind: "login"; readonly id: FrameID | null; readonly username: string; readonly token: string }
  | {
      readonly kind: "message";
      readonly id: FrameID | null;
      readonly topic: string;
      readonly payload: Buffer;
      /** As it was given; undefined: none. */
      readonly time: unknown;
      readonly key: string | null;
    }
  /** The receipt of a message that went down. */
  | { readonly kind: "ack"; readonly ack: FrameID };

/** Why a frame is none, and of which id, as far as it could be read. */
export interface BadFrame {
  readonly kind: "bad";
  readonly id: FrameID | null;
  readonly error: string;
}

type Members = Readonly<Record<string, unknown>>;

const keyForm = /^[\x20-\x7e]{1,128}$/;

export function readFrame(bytes: Buffer, format: FrameFormat): ClientFrame | BadFrame {
  const text = format === "json" ? bareJson(bytes).toString("utf8") : null;
  const members = text === null ? membersOfCbor(bytes) : membersOfJson(text);
  if (typeof members === "string") return bad(null, members);
  const { ack, topic, username } = members;
  const id = isFrameID(members.id) ? members.id : null;
  if (members.id !== undefined && id === null)
    return bad(null, "id must be a number or a text of 128 characters");
  if (ack !== undefined) return isFrameID(ack) ? { kind: "ack", ack } : bad(id, "ack must be an id");
  if (username !== undefined) {
    const { token = "" } = members;
    if (typeof username !== "string" || typeof token !== "string")
      return bad(id, "username and token must be texts");
    return { kind: "login", id, username, token };
  }
  if (typeof topic !== "string") return bad(id, "topic is required, a text");
  const payload = text === null ? decodePayload(members) : payloadOfJson(text, members);
  if (typeof payload === "string") return bad(id, payload);
  const { key = null } = members;
  if (key !== null && !(typeof key === "string" && keyForm.test(key)))
    return bad(id, "key must have 1 to 128 characters of printable ASCII");
  const timeName = findTimeName(members, "time");
  const time = text === null ? members[timeName] : exactMember(text, members, timeName);
  return { kind: "message", id, topic, payload, time: time ?? undefined, key };
}

const bad = (id: FrameID | null, error: string): BadFrame => ({ kind: "bad", id, error });

function isFrameID(id: unknown): id is FrameID {
  return (typeof id === "number" && Number.isFinite(id)) || (typeof id === "string" && id.length <= 128);
}

/** A text says why there are none. */
function membersOfCbor(bytes: Buffer): Members | string {
  const read = readCbor(bytes, jsonPartsMax);
  if (read === "large") return tooManyParts;
  const value = read?.value instanceof Map ? toPlain(read.value) : null;
  return value === null ? "is no map of CBOR" : (value as Members);
}

/** A frame of ours: `{"ack"}`, `{"refused", "status", "error"}`, or a message. */
export function writeFrame(frame: Members, format: FrameFormat): string | Buffer {
  return format === "json" ? JSON.stringify(frame) : Buffer.from(encode(frame));
}

/** A message that goes down. Its payload comes as a client would send it. */
export function messageFrame(
  id: string | null,
  topic: string,
  payload: Uint8Array,
  format: FrameFormat,
): string | Buffer {
  const named = id === null ? { topic } : { id, topic };
  if (format === "cbor") return writeFrame({ ...named, payload }, format);
  if (!isUtf8(payload))
    return writeFrame({ ...named, base64: Buffer.from(payload).toString("base64") }, format);
  const text = Buffer.from(payload).toString("utf8");
  // An object goes down digit for digit.
  if (isJsonContainer(text)) return `${JSON.stringify(named).slice(0, -1)},"payload":${text}}`;
  return writeFrame({ ...named, payload: text }, format);
}

function isJsonContainer(text: string): boolean {
  const first = text.trimStart()[0];
  if ((first !== "{" && first !== "[") || !isWithinJsonBounds(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
