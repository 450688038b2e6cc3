/** Messages that an edge node has stored, in one body: NDJSON up, a status a line back. */
import { isUtf8 } from "node:buffer";
import type { Publication, PublishRefusal } from "../../../clients/client.js";
import { exactMember, membersOfJson, payloadOfJson } from "../../../clients/json-message.js";
import { bareJson } from "../../../decode/bare-json.js";
import { type LocalTime, readPointTime, unreadableTime } from "../../../decode/time.js";
import { findTimeName } from "../../../decode/time-names.js";
import type { RecentBatches } from "../../../uplinks/repeats.js";
import { failureAnswer, refusals, type UplinkAnswer, unread } from "../requests/answers.js";
import { type UplinkBody, uplinkBatchBytesMax } from "../requests/body.js";
import type { DeviceRequest } from "../requests/device-request.js";
import { badID, parseMessageID } from "../requests/message-id.js";
import { bytesPerLine, createPace, createTaking, type Pace } from "../requests/taking.js";

const linesMax = 20_000;
/** Longest line: a message of the largest size, with what JSON makes of its characters. */
const lineBytesMax = 640 * 1024;
/** Bytes of an answer for each line, with the reason why it is not kept. */
const answerBytesEach = 128;
/** Unfinished batches of a device that are gone on with, by what is known of their lines. */
const cutOffMax = 4;

/** Why a line is not kept, with a status of HTTP. */
interface LineFault {
  readonly status: number;
  readonly error: string;
}

/** What became of the lines of a batch. */
interface Outcomes {
  /** The numbers of all of them, in their order. */
  readonly lines: number[];
  /** Faults of lines that are not kept, by number. */
  readonly faults: Map<number, LineFault>;
}

const kept = 204;

/** POST /api/v1/uplinks. 200 says that every line is on disk; sent again under its Batch-Id it is taken once. */
export async function takeBatch(request: DeviceRequest): Promise<UplinkAnswer | undefined> {
  const id = parseMessageID(request.headers["batch-id"]);
  if (id === undefined) return badID("Batch-Id");
  const body = await request.body(uplinkBatchBytesMax);
  if (body === undefined || "status" in body) return body;
  try {
    return await (id === null ? takeLines(request, body, null) : takeOnce(request, body, id));
  } finally {
    body.release();
  }
}

async function takeOnce(request: DeviceRequest, body: UplinkBody, id: string): Promise<UplinkAnswer> {
  const batches = await request.client.ids.batches();
  return batches.inTurn(async () => {
    const refused = batches.ids.get(id);
    if (refused === undefined) return takeLines(request, body, { id, batches });
    if (refused > 0)
      return failureAnswer(
        422,
        "FORMAT_INVALID",
        `the batch was taken before; ${refused} of its lines were refused`,
      );
    const all = await request.kept();
    return all === "kept"
      ? ndjson(200, `${JSON.stringify({ batch: id, status: kept, repeated: true })}\n`)
      : refusals.unavailable;
  });
}

interface Batch {
  readonly id: string;
  readonly batches: RecentBatches;
}

async function takeLines(
  request: DeviceRequest,
  { bytes }: UplinkBody,
  batch: Batch | null,
): Promise<UplinkAnswer> {
  if (!isUtf8(bytes)) return failureAnswer(400, "BAD_REQUEST", "the body is not UTF-8");
  const count = countLines(bytes);
  if (count > linesMax) return failureAnswer(413, "PAYLOAD_TOO_LARGE", `a batch may have ${linesMax} lines`);
  // Reserved before anything is kept: work that is done must be reported.
  const release = request.takeAnswerRoom(count * answerBytesEach);
  if (release === null) return unread;
  try {
    return { ...(await answerLines(request, bytes, batch)), release };
  } catch (error) {
    release();
    throw error;
  }
}

async function answerLines(
  request: DeviceRequest,
  bytes: Buffer,
  batch: Batch | null,
): Promise<UplinkAnswer> {
  const known = batch === null ? noLines : (batch.batches.cutOff.get(batch.id) ?? noLines);
  const outcomes: Outcomes = { lines: [], faults: new Map() };
  const { lines, faults } = outcomes;
  const taking = createTaking(request);
  const pace = createPace();
  for (const { line, bytes: passed, text } of splitLines(bytes)) {
    const turn = pace(passed + bytesPerLine);
    if (turn !== undefined) await turn;
    if (text === "") continue;
    lines.push(line);
    if (known.has(line)) continue;
    const message = text === null ? tooLong : parseMessage(text, request.local);
    if ("error" in message) {
      faults.set(line, message);
      continue;
    }
    const named = { ...message, batch: batch === null ? null : { id: batch.id, line } };
    const taken = taking.take(named, (outcome) => {
      if (outcome !== "kept" && outcome !== "repeated") faults.set(line, toLineFault(outcome));
    });
    if (taken !== undefined) await taken;
  }
  await taking.settled();
  return end(request, batch, outcomes, pace);
}

/** The whole has the status of the line that went worst: what may be sent again first, so that it is. */
async function end(
  { client }: DeviceRequest,
  batch: Batch | null,
  outcomes: Outcomes,
  pace: Pace,
): Promise<UplinkAnswer> {
  const { lines, faults } = outcomes;
  const again = [...faults.values()].find(({ status }) => mayComeAgain.has(status));
  if (batch !== null && again === undefined) {
    if ((await client.endBatch(batch.id, faults.size)) !== "kept") return refusals.unavailable;
    batch.batches.cutOff.delete(batch.id);
  } else if (batch !== null) {
    const { cutOff } = batch.batches;
    cutOff.set(batch.id, new Set(lines.filter((line) => !faults.has(line))));
    const [oldest] = cutOff.keys();
    if (cutOff.size > cutOffMax && oldest !== undefined) cutOff.delete(oldest);
  }
  const text = await formatOutcomes(outcomes, pace);
  if (again !== undefined) return ndjson(again.status, text, { "Retry-After": "5" });
  return ndjson(faults.size === 0 ? 200 : 422, text);
}

/** Refusals that are not about the line: the same line may be kept another time. */
const mayComeAgain: ReadonlySet<number> = new Set([401, 429, 503]);
const noLines: ReadonlySet<number> = new Set();
const tooLong: LineFault = { status: 413, error: `a line may have ${lineBytesMax} bytes` };

function toLineFault(refusal: PublishRefusal): LineFault {
  const { status, body } = refusals[refusal];
  return { status, error: (JSON.parse(String(body)) as { message: string }).message };
}

/** A status a line. */
async function formatOutcomes({ lines, faults }: Outcomes, pace: Pace): Promise<string> {
  let text = "";
  for (const line of lines) {
    const fault = faults.get(line);
    text +=
      fault === undefined ? `{"line":${line},"status":${kept}}\n` : `${JSON.stringify({ line, ...fault })}\n`;
    const turn = pace(bytesPerLine);
    if (turn !== undefined) await turn;
  }
  return text;
}

function ndjson(status: number, body: string, headers = {}): UplinkAnswer {
  return { status, headers: { "Content-Type": "application/x-ndjson", ...headers }, body };
}

const newline = 0x0a;

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(newline); at >= 0 && lines <= linesMax; at = bytes.indexOf(newline, at + 1))
    lines++;
  return lines + (bytes.at(-1) === newline ? 0 : 1);
}

interface BatchText {
  /** From 1. */
  readonly line: number;
  readonly bytes: number;
  /** Empty for a line with nothing on it; null for one that is too long. */
  readonly text: string | null;
}

function* splitLines(bytes: Buffer): Generator<BatchText> {
  let line = 0;
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(newline, at);
    const end = found < 0 ? bytes.length : found;
    const text = end - at > lineBytesMax ? null : bareJson(bytes.subarray(at, end)).toString("utf8").trim();
    yield { line: ++line, bytes: end - at, text };
    at = end + 1;
  }
}

/** `{"topic", "payload", "time"?}`, or why it is none. */
function parseMessage(text: string, local: LocalTime): Omit<Publication, "batch"> | LineFault {
  const members = membersOfJson(text);
  if (typeof members === "string") return bad(members);
  const { topic } = members;
  if (typeof topic !== "string") return bad("topic is required, a text");
  const payload = payloadOfJson(text, members);
  if (typeof payload === "string") return bad(payload);
  const timeName = findTimeName(members, "time");
  const time = members[timeName] ?? null;
  const sentAt = time === null ? null : readPointTime(exactMember(text, members, timeName), local);
  if (time !== null && sentAt === null) return bad(`time ${unreadableTime}`);
  return { topic, payload, sentAt, key: null };
}

const bad = (error: string): LineFault => ({ status: 400, error });
