import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createGunzip } from "node:zlib";
import { zone } from "../../query/zone.js";
import { systemClock } from "../../store/lib/clock.js";
import type { Config } from "../config/config.js";
import { createCatalog } from "../devices/catalog.js";
import { findService, type ServiceAddress } from "../host/service-address.js";
import { createHistoryGate } from "../import-export/points/gate.js";
import { formatImportMessage, importBounds } from "../import-export/points/kinds.js";
import { type HistoryFormat, historyFormats, historyTypes } from "../import-export/points/limits.js";
import { runImport } from "../import-export/points/run-import.js";
import { readJSON, sendRequest } from "../import-export/points/transport.js";
import { streamOriginal } from "../routes/data-export.js";
import { withStores } from "./open-stores.js";

/** Commands for history files: through the running service, or else on the stores directly. */

export const importUsage =
  "tidemark import <file, or - for standard input> [--format csv|ndjson] [--tenant <name>, without a service]";
export const exportUsage =
  "tidemark export <deviceID,…> | --group <groupID> [--start <time>] [--end <time>] [--timezone <zone>] [--time-format iso|ms] " +
  "[--format csv|ndjson] [--layout long|wide] [--gzip] [--out <file>] [--tenant <name>, without a service]";
export const redecodeUsage = "tidemark redecode <deviceID> <startTime> [endTime]";

const pollMs = 500;
const logLine = (text: string): void => void process.stderr.write(`${text}\n`);

export async function importTool(args: readonly string[], config: Config): Promise<unknown> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { format: { type: "string" }, tenant: { type: "string" } },
  });
  const [file] = positionals;
  if (file === undefined || positionals.length > 1) throw new Error(`usage: ${importUsage}`);
  const format = chooseFormat(values.format, file);
  const service = await findService(config);
  if (service === null) return importHere(config, file, format, values.tenant);
  const headers = {
    "Content-Type": historyTypes[format],
    ...(isPacked(file) ? { "Content-Encoding": "gzip" } : {}),
  };
  const sent = await sendRequest(service, "POST", "/api/v1/original_data", headers, openInput(file));
  return untilDone(service, await readJSON(sent));
}

export async function redecodeTool(args: readonly string[], config: Config): Promise<unknown> {
  const [deviceID, startTime, endTime] = args;
  if (deviceID === undefined || startTime === undefined) throw new Error(`usage: ${redecodeUsage}`);
  const service = await findService(config);
  if (service === null) {
    throw new Error(`no service runs on ${config.dataDir}; start it with: tidemark serve`);
  }
  const path = `/api/v1/devices/${encodeURIComponent(deviceID)}/redecode`;
  const body = JSON.stringify({ startTime, endTime: endTime ?? null });
  return untilDone(
    service,
    await readJSON(await sendRequest(service, "POST", path, { "Content-Type": "application/json" }, body)),
  );
}

export async function exportTool(args: readonly string[], config: Config): Promise<unknown> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      group: { type: "string" },
      start: { type: "string" },
      end: { type: "string" },
      timezone: { type: "string" },
      "time-format": { type: "string" },
      format: { type: "string" },
      layout: { type: "string" },
      gzip: { type: "boolean", default: false },
      out: { type: "string" },
      tenant: { type: "string" },
    },
  });
  if ((positionals.length === 0) === (values.group === undefined)) throw new Error(`usage: ${exportUsage}`);
  const format = chooseFormat(values.format, values.out ?? "");
  const query = {
    ...(values.group === undefined ? { deviceID: positionals.join(",") } : { groupID: values.group }),
    ...(values.start === undefined ? {} : { startTime: values.start }),
    ...(values.end === undefined ? {} : { endTime: values.end }),
    ...(values.timezone === undefined ? {} : { timezone: values.timezone }),
    ...(values["time-format"] === undefined ? {} : { timeFormat: values["time-format"] }),
    ...(values.layout === undefined ? {} : { layout: values.layout }),
  };
  const packed = values.gzip || isPacked(values.out ?? "");
  const headers = { Accept: historyTypes[format], ...(packed ? { "Accept-Encoding": "gzip" } : {}) };
  const output = () => (values.out === undefined ? process.stdout : createWriteStream(values.out));
  const service = await findService(config);
  if (service === null) return exportHere(config, values.tenant, query, headers, format, output);
  const sent = await sendRequest(
    service,
    "GET",
    `/api/v1/original_data?${new URLSearchParams(query)}`,
    headers,
  );
  if (sent.status !== 200) return readJSON(sent);
  await pipeline(sent.body, output());
  return undefined;
}

function chooseFormat(text: string | undefined, file: string): HistoryFormat {
  const name = file.replace(/\.gz$/, "");
  const format = historyFormats.find(
    (one) => one === (text ?? (/\.(ndjson|jsonl)$/.test(name) ? "ndjson" : "csv")),
  );
  if (format === undefined) throw new Error(`--format must be ${historyFormats.join(" or ")}`);
  return format;
}

const isPacked = (file: string): boolean => file.endsWith(".gz");
const openInput = (file: string): Readable => (file === "-" ? process.stdin : createReadStream(file));

interface TaskStatus {
  readonly state: string;
  readonly current: number;
  readonly msg: unknown;
}

/** Polls a task until it ends, and returns its result. @throws Error when it fails */
async function untilDone(service: ServiceAddress, { statusUrl }: { statusUrl: string }): Promise<unknown> {
  let shown = -1;
  for (;;) {
    const task = await readJSON<TaskStatus>(await sendRequest(service, "GET", statusUrl, {}));
    if (task.state === "SUCCESS") return task.msg;
    if (task.state === "FAILURE") throw new Error(String(task.msg));
    if (task.current !== shown) logLine(`${task.current} %`);
    shown = task.current;
    await delay(pollMs);
  }
}

async function importHere(
  config: Config,
  file: string,
  format: HistoryFormat,
  tenantName: string | undefined,
): Promise<unknown> {
  const dir = await mkdtemp(join(config.dataDir, "import-"));
  const stopping = new AbortController();
  process.once("SIGINT", () =>
    stopping.abort(new Error("interrupted; run it again: nothing is stored twice")),
  );
  try {
    const path = file === "-" || isPacked(file) ? join(dir, "rows") : file;
    if (path !== file) {
      const unpack = isPacked(file) ? [createGunzip()] : [];
      await pipeline([openInput(file), ...unpack, createWriteStream(path)]);
    }
    return await withStores(config, tenantName, async ({ tenant, ...stores }) => {
      const oldest = () =>
        config.pointRetentionDays === 0
          ? 0
          : (systemClock.now() - config.pointRetentionDays * 86_400_000) * 1000;
      const last = await runImport(
        { ...stores, gate: createHistoryGate(), space: null },
        {
          file: { path, format },
          tenant,
          timezone: config.timezone,
          from: null,
          signal: stopping.signal,
          errorsPath: join(dir, "errors.csv"),
          errorsRoom: null,
          bounds: importBounds({ earliest: config.oldestTime, oldest, now: systemClock.now }),
          saved: async ({ line }) => logLine(`line ${line}`),
        },
      );
      return formatImportMessage(last);
    });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function exportHere(
  config: Config,
  tenantName: string | undefined,
  query: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
  format: HistoryFormat,
  output: () => NodeJS.WritableStream,
): Promise<undefined> {
  await withStores(config, tenantName, async ({ db, series, refs, tenant }) => {
    const deps = {
      db,
      series,
      refs,
      catalog: createCatalog(db),
      zone: zone(config.timezone),
      now: systemClock.now,
    };
    const request = new Request("http://localhost/", { headers });
    const { body } = await streamOriginal(deps, tenant, query, request, format);
    if (body instanceof ReadableStream) await pipeline(Readable.fromWeb(body as never), output());
  });
  return undefined;
}
