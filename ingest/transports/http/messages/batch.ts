/** Messages that an edge node has stored, in one body: NDJSON up, a status a line back. */
import { isUtf8 } from "node:buffer";
import { createSlice } from "../../../../store/lib/turns.js";
import type { Publication, Refusal, Taken } from "../../../clients/client.js";
import { payloadOf } from "../../../clients/payloads.js";
import { type LocalTime, readTime } from "../../../decode/time.js";
import { parseJson } from "../../../decode/whole.js";
import type { RecentBatches } from "../../../uplinks/repeats.js";
import { type Answer, failure, refusals } from "../requests/answers.js";
import { type Body, batchBytesMax } from "../requests/body.js";
import type { DeviceRequest } from "../requests/device-request.js";
import { badID, idOf } from "../requests/message-id.js";

const linesMax = 20_000;
/** Of a line: a message of the largest size, with what JSON makes of its characters. */
const lineBytesMax = 640 * 1024;
/** Unfinished batches of a device that are gone on with, by what is known of their lines. */
const cutOffMax = 4;

/** What became of one line: a status of HTTP, and why. */
interface LineStatus {
  readonly line: number;
  readonly status: number;
  readonly error?: string;
}

const kept = 204;

/** POST /api/v1/uplinks. 200 says that every line is on disk; sent again under its Batch-Id it is taken once. */
export async function takeBatch(request: DeviceRequest): Promise<Answer | undefined> {
  const id = idOf(request.headers["batch-id"]);
  if (id === undefined) return badID("Batch-Id");
  const body = await request.body(batchBytesMax);
  if (body === undefined || "status" in body) return body;
  try {
    return await (id === null ? takeLines(request, body, null) : takeOnce(request, body, id));
  } finally {
    body.release();
  }
}

async function takeOnce(request: DeviceRequest, body: Body, id: string): Promise<Answer> {
  const batches = await request.client.batches();
  return batches.inTurn(async () => {
    const refused = batches.ids.get(id);
    if (refused === undefined) return takeLines(request, body, { id, batches });
    if (refused > 0)
      return failure(
        422,
        "FORMAT_INVALID",
        `the batch was taken before; ${refused} of its lines were refused`,
      );
    const all = await request.kept();
    return all === "kept"
      ? linesAnswer(200, [{ batch: id, status: kept, repeated: true }])
      : refusals.unavailable;
  });
}

interface Batch {
  readonly id: string;
  readonly batches: RecentBatches;
}

async function takeLines(request: DeviceRequest, { bytes }: Body, batch: Batch | null): Promise<Answer> {
  const { client, ip, local } = request;
  if (!isUtf8(bytes)) return failure(400, "BAD_REQUEST", "the body is not UTF-8");
  const known = batch === null ? noLines : (batch.batches.cutOff.get(batch.id) ?? noLines);
  const taken: (LineStatus | { readonly line: number; readonly message: Taken })[] = [];
  if (countLines(bytes) > linesMax)
    return failure(413, "PAYLOAD_TOO_LARGE", `a batch may have ${linesMax} lines`);
  const slice = createSlice();
  for (const { line, text } of linesOf(bytes)) {
    if (slice.isOver()) await slice.next();
    if (known.has(line)) {
      taken.push({ line, status: kept });
      continue;
    }
    const message = text === null ? null : messageOf(text, local);
    if (message === null) {
      taken.push({ line, status: 413, error: `a line may have ${lineBytesMax} bytes` });
      continue;
    }
    if (typeof message === "string") {
      taken.push({ line, status: 400, error: message });
      continue;
    }
    const place = batch === null ? null : { id: batch.id, line };
    const isOpen = await request.room();
    const found = isOpen ? await client.take({ ...message, batch: place }, ip) : "unavailable";
    taken.push(typeof found === "string" ? lineOf(line, found) : { line, message: found });
  }
  const statuses: LineStatus[] = [];
  for (const one of taken) {
    if (slice.isOver()) await slice.next();
    if ("status" in one) statuses.push(one);
    else {
      const outcome = await one.message.outcome;
      const isKept = outcome === "kept" || outcome === "repeated";
      statuses.push(isKept ? { line: one.line, status: kept } : lineOf(one.line, outcome));
    }
  }
  return end(request, batch, statuses);
}

/** The whole has the status of the line that went worst: what may be sent again first, so that it is. */
async function end(
  { client }: DeviceRequest,
  batch: Batch | null,
  statuses: readonly LineStatus[],
): Promise<Answer> {
  const refused = statuses.filter(({ status }) => status !== kept);
  const again = refused.find(({ status }) => mayComeAgain.has(status));
  if (batch !== null && again === undefined) {
    if ((await client.endBatch(batch.id, refused.length)) !== "kept") return refusals.unavailable;
    batch.batches.cutOff.delete(batch.id);
  } else if (batch !== null) {
    const lines = statuses.filter(({ status }) => status === kept).map(({ line }) => line);
    const { cutOff } = batch.batches;
    cutOff.set(batch.id, new Set(lines));
    const [oldest] = cutOff.keys();
    if (cutOff.size > cutOffMax && oldest !== undefined) cutOff.delete(oldest);
  }
  if (again !== undefined) return linesAnswer(again.status, statuses, { "Retry-After": "5" });
  return linesAnswer(refused.length === 0 ? 200 : 422, statuses);
}

const mayComeAgain: ReadonlySet<number> = new Set([429, 503]);
const noLines: ReadonlySet<number> = new Set();

function lineOf(line: number, refusal: Refusal): LineStatus {
  const { status, body } = refusals[refusal];
  return { line, status, error: (JSON.parse(String(body)) as { message: string }).message };
}

function linesAnswer(status: number, lines: readonly object[], headers = {}): Answer {
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return { status, headers: { "Content-Type": "application/x-ndjson", ...headers }, body };
}

const newline = 0x0a;

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(newline); at >= 0 && lines <= linesMax; at = bytes.indexOf(newline, at + 1))
    lines++;
  return lines + (bytes.at(-1) === newline ? 0 : 1);
}

/** Lines with something on them, by their numbers from 1; null for one that is too long. */
function* linesOf(bytes: Buffer): Generator<{ readonly line: number; readonly text: string | null }> {
  let line = 0;
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(newline, at);
    const end = found < 0 ? bytes.length : found;
    line++;
    const text = end - at > lineBytesMax ? null : bytes.toString("utf8", at, end).trim();
    if (text !== "") yield { line, text };
    at = end + 1;
  }
}

/** `{"topic", "payload", "time"?}`, or why it is none. */
function messageOf(text: string, local: LocalTime): Omit<Publication, "batch"> | string {
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch {
    return "is not JSON";
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) return "is no object";
  const { topic, time = null } = parsed as Readonly<Record<string, unknown>>;
  if (typeof topic !== "string") return "topic is required, a text";
  const payload = payloadOf(parsed as Readonly<Record<string, unknown>>);
  if (typeof payload === "string") return payload;
  const sentAt = time === null ? null : readTime(time, local);
  if (time !== null && sentAt === null) return "time cannot be read";
  return { topic, payload, sentAt, key: null };
}
