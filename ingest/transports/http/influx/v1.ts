/** What clients of InfluxDB 1 ask: line protocol by `/write`, `/ping`, and the statements by which they begin. */
import { failureAnswer, type UplinkAnswer } from "../requests/answers.js";
import type { DeviceRequest } from "../requests/device-request.js";
import type { Precision } from "./timestamps.js";
import { writeLines } from "./write.js";

/** Precisions by the names of InfluxDB 1, those of its documents and those that it takes besides. */
const precisions: Readonly<Record<string, Precision>> = {
  "": "ns",
  n: "ns",
  ns: "ns",
  u: "us",
  µ: "us",
  us: "us",
  ms: "ms",
  s: "s",
  m: "m",
  h: "h",
};

/** POST /write. `db`, `rp` and `consistency` may be anything: a device's messages have one place. */
export async function takeWriteOf1(request: DeviceRequest): Promise<UplinkAnswer | undefined> {
  const precision = precisions[request.query.get("precision") ?? ""];
  if (precision === undefined)
    return failureAnswer(400, "PARAMETER_INVALID", "precision may be n, ns, u, us, ms, s, m or h");
  return writeLines(request, precision);
}

const statementBytesMax = 16 * 1024;
/** What clients send before they write: Telegraf's CREATE DATABASE, and the retention policies of others. */
function isPreparation(statement: string): boolean {
  const text = statement.trim();
  const [verb = "", kind = ""] = text.toLowerCase().split(/\s+/, 2);
  const isOne = !text.slice(0, -1).includes(";");
  return isOne && (verb === "create" || verb === "alter") && (kind === "database" || kind === "retention");
}

/** GET and POST /query: nothing is read here, and what would make a database has nothing to do. */
export async function answerQueryOf1(request: DeviceRequest): Promise<UplinkAnswer | undefined> {
  let statement = request.query.get("q");
  if (statement === null) {
    const body = await request.body(statementBytesMax);
    if (body === undefined || "status" in body) return body;
    statement = new URLSearchParams(body.bytes.toString("utf8")).get("q") ?? "";
    body.release();
  }
  if (isPreparation(statement)) return inForm(200, { results: [{ statement_id: 0 }] });
  return failureAnswer(
    400,
    "PARAMETER_INVALID",
    "values are read by the API, not by queries: see /reference",
  );
}

/** GET and HEAD /ping: 204, or 200 with the version for clients that ask for a body by `verbose`. */
export function pong(query: URLSearchParams): UplinkAnswer {
  const isVerbose = !["", "0", "false"].includes(query.get("verbose") ?? "");
  return isVerbose ? inForm(200, { version }) : { status: 204, headers };
}

/** The version of InfluxDB by which clients of version 1 know what to expect here. */
const version = "1.8-tidemark";
const headers = { "X-Influxdb-Version": version, "X-Influxdb-Build": "tidemark" };

function inForm(status: number, body: object): UplinkAnswer {
  return {
    status,
    headers: { ...headers, "Content-Type": "application/json" },
    body: `${JSON.stringify(body)}\n`,
  };
}

/** The answer with its error as clients of InfluxDB 1 read it: `{"error": …}`, and in a header. */
export function inFormOf1(answer: UplinkAnswer): UplinkAnswer {
  if (answer.status < 400) return { ...answer, headers: { ...headers, ...answer.headers } };
  const { message } = JSON.parse(String(answer.body)) as { message: string };
  const added = {
    ...answer.headers,
    "X-Influxdb-Error": message.slice(0, errorCharactersMax).replaceAll(/[^\x20-\x7e]/g, "?"),
  };
  return { ...answer, headers: { ...headers, ...added }, body: `${JSON.stringify({ error: message })}\n` };
}

/** Most characters of an error in a header. */
const errorCharactersMax = 200;
