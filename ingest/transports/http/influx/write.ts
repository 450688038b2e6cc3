/** POST /api/v2/write: InfluxDB line protocol, of which each line becomes one message. */
import { isUtf8 } from "node:buffer";
import { StringDecoder } from "node:string_decoder";
import type { PublishOutcome } from "../../../clients/client.js";
import { failureAnswer, noContent, refusals, type UplinkAnswer } from "../requests/answers.js";
import { uplinkBatchBytesMax } from "../requests/body.js";
import type { DeviceRequest } from "../requests/device-request.js";
import { bytesPerLine, createPace, createTaking, type Pace } from "../requests/taking.js";
import { createLineReader, type ProtocolLine } from "./line-protocol.js";
import { showText } from "./shown.js";
import { createWriteTargets, type WriteTarget } from "./targets.js";
import { isPrecision, jsonOfTimestamp, type Precision } from "./timestamps.js";

/** Bytes that become text at once: in UTF-8 of many bytes a character some 3 ms. */
const pieceBytes = 1024 * 1024;
/** Most faults that an answer lists. */
const faultsMax = 20;

export async function takeLineProtocol(request: DeviceRequest): Promise<UplinkAnswer | undefined> {
  const precision = request.query.get("precision") ?? "ns";
  if (!isPrecision(precision))
    return failureAnswer(400, "PARAMETER_INVALID", "precision may be ns, us, ms or s");
  return writeLines(request, precision);
}

/** Undefined: the client has gone. */
export async function writeLines(
  request: DeviceRequest,
  precision: Precision,
): Promise<UplinkAnswer | undefined> {
  const body = await request.body(uplinkBatchBytesMax);
  if (body === undefined || "status" in body) return body;
  try {
    if (!isUtf8(body.bytes)) return failureAnswer(400, "BAD_REQUEST", "the body is not UTF-8");
    return await takeLines(request, body.bytes, precision);
  } finally {
    body.release();
  }
}

/** What became of the lines of one request. */
interface Tally {
  lines: number;
  refused: number;
  readonly faults: string[];
  /** What the client may mend by sending all of it again. */
  worst: "rate" | "unavailable" | "gone" | null;
}

async function takeLines(request: DeviceRequest, bytes: Buffer, precision: Precision): Promise<UplinkAnswer> {
  const tally: Tally = { lines: 0, refused: 0, faults: [], worst: null };
  const targets = createWriteTargets(request.client.entry, request.directory);
  const taking = createTaking(request);
  const pace = createPace();

  const refuse = (line: number, fault: string): undefined => {
    tally.refused++;
    if (tally.faults.length < faultsMax) tally.faults.push(`line ${line}: ${fault}`);
  };
  function settle(line: number, outcome: PublishOutcome): void {
    if (outcome === "kept" || outcome === "repeated") return;
    if (outcome === "rate" || outcome === "unavailable" || outcome === "gone") tally.worst = outcome;
    refuse(line, faults[outcome]);
  }
  function publish(line: ProtocolLine, target: WriteTarget | string): Promise<void> | undefined {
    const { number } = line;
    const json = typeof target === "string" ? null : formatJSON(line, target, precision);
    if (typeof target === "string" || json === null) refuse(number, line.fault ?? String(target));
    else {
      const message = {
        topic: target.topic,
        payload: Buffer.from(json),
        key: null,
        sentAt: null,
        batch: null,
      };
      return taking.take(message, (outcome) => settle(number, outcome));
    }
    return undefined;
  }
  function look(line: ProtocolLine): Promise<void> | undefined {
    const { head } = line;
    const target = targets.known(head);
    return target === undefined
      ? targets.find(head).then((found) => publish(line, found))
      : publish(line, target);
  }
  function take(line: ProtocolLine): Promise<void> | undefined {
    tally.lines++;
    const taken = line.fault === null ? look(line) : refuse(line.number, line.fault);
    return taken ?? pace(bytesPerLine * (1 + line.keys.length));
  }

  // All of it or nothing: its messages have no ids, so what is sent again is taken again.
  if (request.client.isLimited) {
    const within = await taking.isWithin(await countLines(bytes, pace), bytes.length);
    if (!within) return refusals.rate;
  }
  const reader = createLineReader(pace);
  const decoder = new StringDecoder("utf8");
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = decoder.write(bytes.subarray(at, at + pieceBytes));
    await reader.read(piece, at + pieceBytes >= bytes.length, take);
    await pace(pieceBytes);
  }
  await taking.settled();
  return createAnswer(tally);
}

async function countLines(bytes: Buffer, pace: Pace): Promise<number> {
  let lines = 0;
  for (let at = 0; at < bytes.length; lines++) {
    const found = bytes.indexOf(newline, at);
    const end = found < 0 ? bytes.length : found + 1;
    const turn = pace(end - at);
    if (turn !== undefined) await turn;
    at = end;
  }
  return lines;
}

const newline = 0x0a;

const faults = {
  topic: "its measurement is no topic",
  oversize: "is larger than a message may be",
  policy: "the device may not publish to this topic",
  rate: "more than the limit of the device or its tenant",
  unavailable: "nothing can be kept now",
  gone: "the credentials of the device have changed",
} as const;

/** The message that a line becomes; null, with the line's fault set, if it becomes none. */
function formatJSON(line: ProtocolLine, target: WriteTarget, precision: Precision): string | null {
  const { child } = target;
  const time = line.time === "" ? null : jsonOfTimestamp(line.time, precision);
  if (time === null && line.time !== "")
    return faulty(line, "has a timestamp before 2000-01-01 or beyond 2255");
  let json = time === null ? "" : `,"${child === null ? "time" : "TimeStamp"}":${time}`;
  for (let i = 0; i < line.keys.length; i++) {
    const field = line.keys[i] as string;
    if (reserved.has(field)) return faulty(line, `has a field ${field}, which is no data point's name`);
    const key = target.key(field);
    const { last } = key;
    if (last.target !== target && last.target !== null && time !== null && last.time === line.time)
      return faulty(
        line,
        `has a value of ${showText(field)} for a time that another line, of other tags, has one for`,
      );
    last.target = target;
    last.time = line.time;
    json += `,${key.json}${line.values[i]}`;
  }
  if (child === null) return `{${json.slice(1)}}`;
  return `{"Telemetry":[{"DeviceID":${JSON.stringify(child)}${json}}]}`;
}

const reserved: ReadonlySet<string> = new Set(["time", "TimeStamp", "DeviceID"]);

function faulty(line: ProtocolLine, fault: string): null {
  line.fault = fault;
  return null;
}

function createAnswer({ lines, refused, faults, worst }: Tally): UplinkAnswer {
  if (refused === 0) return noContent;
  const more = refused > faults.length ? `; and ${refused - faults.length} more` : "";
  const message = `partial write: ${refused} of ${lines} lines were refused: ${faults.join("; ")}${more}`;
  if (worst === "unavailable")
    return failureAnswer(503, "SERVICE_UNAVAILABLE", message, { "Retry-After": "5" });
  if (worst === "rate") return failureAnswer(429, "TOO_MANY_REQUESTS", message, { "Retry-After": "10" });
  if (worst === "gone") return failureAnswer(401, "AUTH_FAILED", message);
  return failureAnswer(400, "PARAMETER_INVALID", message);
}

const codes: Readonly<Record<number, string>> = {
  400: "invalid",
  401: "unauthorized",
  403: "forbidden",
  405: "method not allowed",
  413: "request too large",
  415: "invalid",
  422: "unprocessable entity",
  429: "too many requests",
  500: "internal error",
  503: "unavailable",
};

/** Errors have a `code` besides, as clients of InfluxDB 2 read them. */
export function inInfluxForm(answer: UplinkAnswer): UplinkAnswer {
  const code = codes[answer.status];
  if (code === undefined) return answer;
  return { ...answer, body: JSON.stringify({ code, ...(JSON.parse(String(answer.body)) as object) }) };
}
