/** What the tests of history in and out share. */
import { gzipSync } from "node:zlib";
import { assert } from "../suite.js";
import type { CallOptions, Rec, Reply, World } from "../world.js";
import { ended, type TaskStatus } from "./transfer.js";

export const csvType = { "Content-Type": "text/csv" };
export const ndjsonType = { "Content-Type": "application/x-ndjson" };

interface Imported {
  readonly import_success_num: number;
  readonly import_failure_num: number;
  readonly errors: readonly { readonly line: number; readonly column: string; readonly error: string }[];
}

export function send(
  world: World,
  file: string | Uint8Array,
  headers: Readonly<Record<string, string>> = csvType,
  options: CallOptions = {},
): Promise<Reply> {
  return world.call("POST", "/api/v1/original_data", file, { ...options, headers });
}

/** Imports and answers what the task says at its end; it must succeed. */
export async function imported(
  world: World,
  file: string | Uint8Array,
  headers: Readonly<Record<string, string>> = csvType,
): Promise<Imported & { readonly status: TaskStatus }> {
  const status = await ended(world, await send(world, file, headers));
  assert.is(status.state, "SUCCESS", JSON.stringify(status).slice(0, 2000));
  return { ...(status.msg as Imported), status };
}

export const packed = (text: string): Buffer => gzipSync(text);

/** The streamed rows of a range. */
export async function exportedText(
  world: World,
  query: string,
  accept: "text/csv" | "application/x-ndjson" = "text/csv",
): Promise<string> {
  const path = `/api/v1/original_data?${query}`;
  const reply = await world.call("GET", path, undefined, { headers: { Accept: accept } });
  assert.is(reply.status, 200, reply.text);
  assert.is(reply.headers.get("content-type"), `${accept}; charset=utf-8`);
  return reply.text;
}

/** Stored points of a device by data point, as the JSON answer has them: [microseconds, value]. */
export async function pointsOf(world: World, device: Rec): Promise<Record<string, [number, unknown][]>> {
  const { list } = await world.call(
    "GET",
    `/api/v1/original_data?deviceID=${encodeURIComponent(String(device.deviceID))}&startTime=1900-01-01T00:00:00Z&timeFormat=ms&limit=100000`,
  );
  return Object.fromEntries(
    list.map((item) => {
      const { time, value } = item.originalData as { time: number[]; value: unknown[] };
      return [String(item.dataPointName), time.map((at, i) => [Math.round(at * 1000), value[i]])];
    }),
  );
}
