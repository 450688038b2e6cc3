/** What the tests of exports and imports share. */
import { Buffer } from "node:buffer";
import { assert, until } from "../suite.js";
import type { CallOptions, Rec, Reply, World } from "../world.js";

export interface TaskStatus {
  readonly state: string;
  readonly current: number;
  readonly msg: unknown;
  readonly excelPath?: string | null;
}

export async function taskStatus(world: World, url: string, options?: CallOptions): Promise<TaskStatus> {
  const reply = await world.call("GET", url, undefined, options);
  assert.is(reply.status, 200, reply.text);
  return reply.record as unknown as TaskStatus;
}

/** Waits for the task that a 202 names. */
export async function ended(world: World, reply: Reply, options?: CallOptions): Promise<TaskStatus> {
  assert.is(reply.status, 202, reply.text);
  const url = String(reply.record.statusUrl);
  assert.match(url, /^\/task_status\/\w+$/);
  return until(
    async () => {
      const found = await taskStatus(world, url, options);
      return /SUCCESS|FAILURE/.test(found.state) ? found : undefined;
    },
    { what: "the task to end", timeoutMs: 60_000 },
  );
}

const boundary = "tidemark-test-boundary";
export const formType = `multipart/form-data; boundary=${boundary}`;

export function formOf(file: string | Uint8Array, field = "file", name = "devices.bin"): Buffer {
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${field}"; filename="${name}"\r\nContent-Type: application/octet-stream\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), Buffer.from(file), Buffer.from(`\r\n--${boundary}--\r\n`)]);
}

export function importFile(
  world: World,
  file: string | Uint8Array,
  options: CallOptions = {},
): Promise<Reply> {
  const headers = { "Content-Type": formType, ...options.headers };
  return world.call("POST", "/api/v1/devices_import", formOf(file), { ...options, headers });
}

export async function download(world: World, path: string): Promise<Response> {
  return fetch(`${world.http}/api/v1/${path}`);
}

/** Exports and answers the file. */
export async function exported(world: World, query: string, options?: CallOptions): Promise<Buffer> {
  const status = await ended(
    world,
    await world.call("GET", `/api/v1/devices_export?${query}`, undefined, options),
    options,
  );
  assert.is(status.state, "SUCCESS", JSON.stringify(status));
  const response = await download(world, String(status.excelPath));
  assert.is(response.status, 200);
  return Buffer.from(await response.arrayBuffer());
}

/** A CSV of these records, with the columns that they name. */
export function csvOf(records: readonly object[]): string {
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const cell = (value: unknown) => {
    if (value === undefined || value === null) return "";
    const text = typeof value === "object" ? JSON.stringify(value) : String(value);
    return `"${text.replaceAll('"', '""')}"`;
  };
  const lines = records.map((record) => columns.map((name) => cell((record as Rec)[name])).join(","));
  return [columns.join(","), ...lines].join("\r\n");
}

export async function deviceNamed(world: World, deviceID: string): Promise<Rec | undefined> {
  const { page } = await world.call("GET", `/api/v1/devices?deviceID=${encodeURIComponent(deviceID)}`);
  return page.items[0];
}
