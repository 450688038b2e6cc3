import { createApi } from "../load/api-client.js";
import { points } from "../load/fleet.js";
import type { InfluxTarget } from "../subjects/tidemark.js";

/** InfluxDB's HTTP API without a client library in between. */
export interface BareInflux {
  write(lines: string): Promise<void>;
  /** The annotated CSV of a Flux query, without annotations. */
  query(flux: string): Promise<string>;
  close(): void;
}

export function openBareInflux(target: InfluxTarget): BareInflux {
  const api = createApi(target.url, { authorization: `Token ${target.token}` });
  const org = encodeURIComponent(target.org);
  const writePath = `/api/v2/write?org=${org}&bucket=${encodeURIComponent(target.bucket)}&precision=ns`;
  return {
    async write(lines) {
      const { status, text } = await api.call("POST", writePath, lines);
      if (status !== 204) throw new Error(`cannot write lines: ${status} ${text.slice(0, 300)}`);
    },
    async query(flux) {
      const body = { query: flux, dialect: { annotations: [], header: true } };
      const { status, text } = await api.call("POST", `/api/v2/query?org=${org}`, body);
      if (status !== 200) throw new Error(`cannot query: ${status} ${text.slice(0, 300)}`);
      return text;
    },
    close: () => api.close(),
  };
}

/** The column `_value` of a one-table answer; null where the cell is empty. */
export function valuesOf(csv: string): (number | null)[] {
  const [head = "", ...lines] = csv.split("\r\n").filter((line) => line !== "");
  const column = head.split(",").indexOf("_value");
  return lines.map((line) => {
    const cell = line.split(",")[column] ?? "";
    return cell === "" ? null : Number(cell);
  });
}

/** Points a request that are tried; more gain nothing. */
const requestSizes = [5_000, 15_000, 30_000];
const inflightRequests = 2;

/**
 * Points a second by bare line protocol, three fields a line, two requests in flight; the best of three sizes of
 * request, each for its part of the time.
 */
export async function bareLineRate(target: InfluxTarget, devices: number, seconds: number): Promise<number> {
  const influx = openBareInflux(target);
  const rates: number[] = [];
  for (const size of requestSizes) {
    rates.push(await rateOf(influx, size, devices, seconds / requestSizes.length));
  }
  influx.close();
  return Math.max(...rates);
}

async function rateOf(
  influx: BareInflux,
  requestPoints: number,
  devices: number,
  seconds: number,
): Promise<number> {
  const linesPerRequest = Math.ceil(requestPoints / points.length);
  const firstMs = Date.now();
  const started = performance.now();
  let lines = 0;

  async function writer(): Promise<void> {
    while (performance.now() - started < seconds * 1000) {
      const from = lines;
      lines += linesPerRequest;
      const body = Array.from({ length: linesPerRequest }, (_, i) => line(from + i, devices, firstMs));
      await influx.write(body.join("\n"));
    }
  }
  await Promise.all(Array.from({ length: inflightRequests }, writer));
  return (lines * points.length * 1000) / (performance.now() - started);
}

function line(n: number, devices: number, firstMs: number): string {
  const fields = points.map((point, i) => `${point}=${20 * (i + 1) + (n % 1000) / 100}`);
  return `bare,device=bench-${n % devices} ${fields.join(",")} ${firstMs + Math.floor(n / devices)}000000`;
}
