import { open } from "node:fs/promises";
import { join } from "node:path";
import { connectAsync } from "mqtt";
import { openDb } from "../../store/metadata/db/db.js";
import { createVault } from "../../store/metadata/db/secrets.js";
import { createDeviceStatements } from "../../store/metadata/devices/devices.js";
import { deviceFile, formOf, formType } from "../load/device-files.js";
import type { BenchOptions } from "../options.js";
import { type Figure, progress } from "../report.js";
import { rssMB } from "../subjects/proc.js";
import { startTidemark, type Tidemark } from "../subjects/tidemark.js";

const devicesFull = 100_000;
const devicesQuick = 10_000;
const formatNames = ["csv", "xlsx"] as const;
const targets = { import: 60, export: 30, memory: 300 } as const;

/**
 * Import and export of 100,000 devices: seconds, memory over the idle process, and how long other requests wait
 * during that time; compared with bare inserts of such rows and the bare writing of the same bytes.
 */
export async function benchTransfer(options: BenchOptions): Promise<Figure[]> {
  const count = options.quick ? devicesQuick : devicesFull;
  const figures: Figure[] = [await bareInsert(options.dir, count)];
  const service = await startTidemark({ dir: options.dir });
  const bystander = await openBystander(service);
  progress("transfer: idle");
  await new Promise((resolve) => setTimeout(resolve, 3000));
  for (const format of formatNames) {
    const productID = await makeProduct(service, format);
    const file = await deviceFile(options.dir, format, productID, count);
    figures.push(await bareWrite(options.dir, format, file));
    progress(`transfer: import ${format}, ${Math.round(file.length / 1e6)} MB`);
    const imported = () => service.api().call("POST", "/api/v1/devices_import", formOf(file), formType);
    figures.push(...(await measure(service, bystander, `import ${format}`, imported, "bare inserts")));
    progress(`transfer: export ${format}`);
    const path = `/api/v1/devices_export?format=${format}&productID=${productID}`;
    const exported = () => service.api().call("GET", path);
    figures.push(
      ...(await measure(service, bystander, `export ${format}`, exported, `bare ${format} bytes`)),
    );
  }
  await bystander.close();
  await service.close();
  return figures;
}

async function measure(
  service: Tidemark,
  bystander: Bystander,
  name: string,
  start: () => Promise<{ status: number; text: string }>,
  baseline: string,
): Promise<Figure[]> {
  const idle = rssMB(service.pid());
  let peak = idle;
  const sampler = setInterval(() => {
    peak = Math.max(peak, rssMB(service.pid()));
  }, 50);
  bystander.reset();
  const started = performance.now();
  const { status, text } = await start();
  if (status !== 202) throw new Error(`cannot ${name}: ${status} ${text}`);
  const msg = await ended(service, (JSON.parse(text) as { statusUrl: string }).statusUrl);
  const seconds = (performance.now() - started) / 1000;
  clearInterval(sampler);
  const worst = await bystander.worst();
  const kind = name.startsWith("import") ? "import" : "export";
  return [
    { name, value: seconds, unit: "s", baseline, detail: { "target s": targets[kind], msg } },
    {
      name: `${name}, memory over idle`,
      value: peak - idle,
      unit: "MB",
      detail: { "target MB": targets.memory, "idle MB": idle },
    },
    {
      name: `${name}, slowest answer`,
      value: worst.read,
      unit: "ms",
      detail: worst,
    },
  ];
}

async function ended(service: Tidemark, url: string): Promise<string> {
  for (;;) {
    const status = await service.api().get<{ state: string; msg: unknown }>(url);
    if (status.state === "SUCCESS") return JSON.stringify(status.msg);
    if (status.state === "FAILURE") throw new Error(`the task failed: ${JSON.stringify(status.msg)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Asks, edits and publishes all the while, and keeps the worst of each. */
interface Bystander {
  reset(): void;
  /** Milliseconds, once what has been asked is answered: an edit may wait for the end of an import. */
  worst(): Promise<{ read: number; edit: number; publish: number }>;
  close(): Promise<void>;
}

async function openBystander(service: Tidemark): Promise<Bystander> {
  const api = service.api();
  const productID = await makeProduct(service, "bystander");
  const device = await api.post<{ deviceUsername: string; token: string }>("/api/v1/devices", {
    productID,
    cloudProtocol: 1,
    deviceName: "Bystander",
    deviceID: "bystander",
    deviceType: 1,
    upLinkSystem: 1,
    authType: 1,
  });
  const client = await connectAsync(`mqtt://127.0.0.1:${service.mqttPort()}`, {
    username: device.deviceUsername,
    password: device.token,
  });
  const worst = { read: 0, edit: 0, publish: 0 };
  let closing = false;
  const waiting = new Map<string, Promise<unknown>>();
  const repeat = async (
    name: keyof typeof worst,
    pauseMs: number,
    action: (n: number) => Promise<unknown>,
  ) => {
    for (let n = 0; !closing; n++) {
      const started = performance.now();
      const asked = action(n);
      waiting.set(name, asked);
      await asked;
      worst[name] = Math.max(worst[name], performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const loops = [
    repeat("read", 5, () => api.call("GET", "/api/v1/time")),
    repeat("edit", 50, (n) => api.call("PUT", `/api/v1/products/${productID}`, { description: `edit ${n}` })),
    repeat("publish", 5, (n) => client.publishAsync("level", `{"level": ${n}}`, { qos: 1 })),
  ];
  return {
    reset: () => Object.assign(worst, { read: 0, edit: 0, publish: 0 }),
    worst: async () => {
      await Promise.all(waiting.values());
      return { ...worst };
    },
    close: async () => {
      closing = true;
      await Promise.all(loops);
      await client.endAsync();
    },
  };
}

async function makeProduct(service: Tidemark, name: string): Promise<string> {
  const body = { productName: `Stations ${name}`, cloudProtocol: 1 };
  return (await service.api().post<{ productID: string }>("/api/v1/products", body)).productID;
}

/** The rows alone, in one transaction of an empty store of the same schema. */
async function bareInsert(dir: string, count: number): Promise<Figure> {
  const db = await openDb({ url: `file:${join(dir, "bare-metadata.db")}`, shared: false });
  const actor = { tenant: 1, userIntID: null, username: null };
  await db.write([
    { sql: "insert into tenant (id, tenantID, tenantName, createAt) values (1, 'C1', 'bare', 0)" },
    {
      sql: `insert into product (id, tenant, productID, productName, cloudProtocol, createAt)
        values (1, 1, 'P1', 'bare', 1, 0)`,
    },
  ]);
  const store = { db, vault: createVault(Buffer.alloc(32)) };
  const statements = Array.from({ length: count }, (_, n) =>
    createDeviceStatements(store, actor, 0, {
      productIntID: 1,
      deviceID: `d${n}`,
      deviceName: `Device ${n}`,
      deviceUsername: `u${n}`,
      token: `t${n}`,
      deviceType: 1,
      upLinkSystem: 1,
      authType: 1,
      manufacturer: "Lake Instruments",
      serialNumber: `SN${n}`,
      latitude: 47 + n / 100_000,
      longitude: 8 + n / 100_000,
      location: { address: "Quay 3" },
    }),
  ).flat();
  const started = performance.now();
  await db.write(statements);
  const seconds = (performance.now() - started) / 1000;
  await db.close();
  return { name: "bare inserts", value: seconds, unit: "s" };
}

async function bareWrite(dir: string, format: string, bytes: Buffer): Promise<Figure> {
  const started = performance.now();
  const file = await open(join(dir, `bare.${format}`), "w");
  await file.writeFile(bytes);
  await file.datasync();
  await file.close();
  const seconds = (performance.now() - started) / 1000;
  return { name: `bare ${format} bytes`, value: seconds, unit: "s", detail: { MB: bytes.length / 1e6 } };
}
