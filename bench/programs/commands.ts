import { join } from "node:path";
import { type LocalFile, openLocalFile } from "../../store/metadata/db/connection/local-file.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import type { Api } from "../load/api-client.js";
import { type DeviceRecord, provision, writeCredentials } from "../load/fleet.js";
import { startGenerator } from "../load/generator.js";
import { createHistogram } from "../load/histogram.js";
import type { ListenersOptions } from "../load/listeners.js";
import { type BenchOptions, wants } from "../options.js";
import { type Figure, progress } from "../report.js";
import { type Child, startChild } from "../subjects/child.js";
import { cpuSeconds, rssMB } from "../subjects/proc.js";
import { startTidemark, type Tidemark } from "../subjects/tidemark.js";

/** Connected while single commands go down; a quick run takes fewer of everything. */
const connected = { full: 1000, quick: 200 };
const groupMembers = { full: 10_000, quick: 1000 };
const pendingSchedules = { full: 100_000, quick: 10_000 };
const idleName = "command confirmed, at rest";
const warmUpCalls = 1000;
const dueSchedules = { full: 1000, quick: 200 };

/** Commands to one device, to a group and on schedule, each to the moment at which their logs say confirmed. */
export async function benchCommands(options: BenchOptions): Promise<Figure[]> {
  const size = (of: { full: number; quick: number }): number => (options.quick ? of.quick : of.full);
  const figures: Figure[] = [];
  if (wants(options, "one")) figures.push(...(await single(options, size(connected))));
  if (wants(options, "group")) figures.push(...(await group(options, size(groupMembers))));
  if (wants(options, "schedules")) {
    figures.push(...(await schedules(options, size(pendingSchedules), size(dueSchedules))));
  }
  return figures;
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function startListeners(
  service: Tidemark,
  dir: string,
  devices: readonly DeviceRecord[],
): Promise<Child> {
  const options: ListenersOptions = {
    port: service.mqttPort(),
    credentialsFile: await writeCredentials(dir, devices),
  };
  const child = startChild("load/listeners.js", [JSON.stringify(options)]);
  await child.next("event", "connected");
  return child;
}

interface Logs {
  readonly items: readonly { readonly publishStatus: number }[];
  readonly meta: { readonly count: number };
}

/** Milliseconds from the request to the log that says confirmed: of the answer, and of the row in the store. */
async function confirmed(
  api: Api,
  metadata: LocalFile,
  device: DeviceRecord,
): Promise<{ answered: number; took: number }> {
  const begun = performance.now();
  await api.post("/api/v1/device_publish", { deviceIntID: device.id, payload: '{"open":1}' });
  const answered = performance.now() - begun;
  // Asking the service would keep it from the very work that is waited for.
  const sql = "select publishStatus from control_log where deviceIntID = ? order by id desc limit 1";
  for (;;) {
    const [newest] = metadata.read([{ sql, args: [device.id] }]);
    if (newest?.rows[0]?.[0] === 2) return { answered, took: performance.now() - begun };
    await pause(1);
  }
}

async function single({ dir, calls, seconds }: BenchOptions, count: number): Promise<Figure[]> {
  const service = await startTidemark({ dir });
  const api = service.api();
  const { devices } = await provision(api, count);
  const listeners = await startListeners(service, dir, devices);
  const generator = await startGenerator({
    port: service.mqttPort(),
    connections: 50,
    inflight: 50,
    credentialsFile: await writeCredentials(dir, devices.slice(0, 50)),
  });
  await generator.round({ seconds: 1 });
  const metadata = openLocalFile(join(service.dataDir, "metadata.db"));
  const measure = async (name: string): Promise<Figure> => {
    const histogram = createHistogram();
    const answers = createHistogram();
    const cpuBefore = cpuSeconds(service.pid());
    for (let i = 0; i < calls; i++) {
      const { answered, took } = await confirmed(api, metadata, devices[(i * 7) % count] as DeviceRecord);
      histogram.record(took);
      answers.record(answered);
      await pause(5);
    }
    const { p50, p90, p99, max } = histogram.latencies();
    const cpu = ((cpuSeconds(service.pid()) - cpuBefore) / calls) * 1000;
    const answered = answers.latencies().p50;
    const detail = {
      "target ms": name === idleName ? 3 : 5,
      "answered ms p50": answered,
      "p90 ms": p90,
      "p99 ms": p99,
      "max ms": max,
      "cpu ms": cpu,
    };
    return { name, value: p50, unit: "ms", detail };
  };
  // What has not been compiled yet takes twice as long.
  for (let i = 0; i < warmUpCalls; i++) await confirmed(api, metadata, devices[i % count] as DeviceRecord);
  const idle = await measure(idleName);
  const { rate: limit } = await generator.round({ seconds });
  await service.stored();
  const ratePerSecond = limit / 2;
  // As long as the calls may take; what is left of it is not waited for.
  const load = generator.round({ seconds: (calls * 60) / 1000 + 2, ratePerSecond });
  await pause(1000);
  const busy = await measure("command confirmed, ingest at half its limit");
  const { rate } = await load;
  metadata.close();
  await generator.close();
  await listeners.stop();
  await service.close();
  return [idle, { ...busy, baseline: idle.name, detail: { ...busy.detail, "msg/s": rate } }];
}

async function group({ dir }: BenchOptions, count: number): Promise<Figure[]> {
  const service = await startTidemark({ dir });
  const api = service.api();
  const { devices, productID } = await provision(api, count);
  const { id, groupID } = await api.post<{ id: number; groupID: string }>("/api/v1/groups", {
    groupName: "bench",
    productID,
  });
  for (let at = 0; at < count; at += 1000) {
    const ids = devices.slice(at, at + 1000).map((device) => device.id);
    const { status, text } = await api.call("POST", `/api/v1/groups/${id}/devices`, { ids });
    if (status !== 201) throw new Error(`cannot add members: ${text}`);
  }
  const listeners = await startListeners(service, dir, devices);
  await service.stored();
  await pause(3000);
  const idleMB = rssMB(service.pid());
  let peakMB = idleMB;
  const watch = setInterval(() => {
    peakMB = Math.max(peakMB, rssMB(service.pid()));
  }, 20);
  const cpuBefore = cpuSeconds(service.pid());
  const begun = performance.now();
  const { statusUrl } = await api.post<{ statusUrl: string }>("/api/v1/group_publish", {
    groupID,
    payload: '{"open":1}',
  });
  let taskSeconds = 0;
  for (;;) {
    const { items } = await api.get<Logs>(`/api/v1/groups/${id}/control_logs?_limit=1`);
    if (items[0]?.publishStatus === 2) break;
    if (performance.now() - begun > 120_000) throw new Error("the group is not confirmed");
    const { state } = await api.get<{ state: string }>(`/api/v1${statusUrl}`);
    if (state === "SUCCESS" && taskSeconds === 0) taskSeconds = (performance.now() - begun) / 1000;
    await pause(20);
  }
  const tookSeconds = (performance.now() - begun) / 1000;
  const cpu = cpuSeconds(service.pid()) - cpuBefore;
  clearInterval(watch);
  await listeners.stop();
  await service.close();
  const name = `group of ${count}`;
  return [
    {
      name: `${name}, all confirmed`,
      value: tookSeconds,
      unit: "s",
      detail: { "target s": 10, "task s": taskSeconds, "cpu s": cpu },
    },
    {
      name: `${name}, memory over idle`,
      value: peakMB - idleMB,
      unit: "MB",
      detail: { "target MB": 100, "idle MB": idleMB },
    },
  ];
}

async function schedules({ dir, seconds }: BenchOptions, pending: number, due: number): Promise<Figure[]> {
  const service = await startTidemark({ dir });
  const { devices } = await provision(service.api(), due);
  const cpuOver = async (): Promise<number> => {
    const before = cpuSeconds(service.pid());
    await pause(seconds * 1000);
    return ((cpuSeconds(service.pid()) - before) / seconds) * 100;
  };
  await pause(1000);
  const idle = { cpu: await cpuOver(), mb: rssMB(service.pid()) };
  // Time to start, to connect and to measure.
  const dueAt = Math.ceil(Date.now() / 1000) * 1000 + (seconds + 25) * 1000;
  await service.restart((dataDir) => fill(dataDir, devices, { pending, dueAt }));
  const listeners = await startListeners(service, dir, devices);
  await pause(1000);
  const waiting = { cpu: await cpuOver(), mb: rssMB(service.pid()) };
  const spareMs = dueAt - Date.now();
  progress(`schedules: due in ${spareMs} ms`);
  if (spareMs < 0) throw new Error("cannot measure: the schedules were due before all were connected");
  const count = async (status: string): Promise<number> =>
    (await service.api().get<Logs>(`/api/v1/device_control_logs?_limit=1${status}`)).meta.count;
  await pause(spareMs);
  while ((await count("")) < due) await pause(20);
  const fired = Date.now() - dueAt;
  while ((await count("&publishStatus=2")) < due) await pause(20);
  const done = Date.now() - dueAt;
  await listeners.stop();
  await service.close();
  const name = `${due} due at once among ${pending}`;
  return [
    { name: `${name}, logged`, value: fired / 1000, unit: "s", detail: { "target s": 3 } },
    { name: `${name}, confirmed`, value: done / 1000, unit: "s" },
    { name: "CPU at rest without schedules", value: idle.cpu, unit: "%", detail: { MB: idle.mb } },
    {
      name: `CPU at rest with ${pending} pending`,
      value: waiting.cpu,
      unit: "%",
      detail: { MB: waiting.mb },
    },
  ];
}

function openMetadata(dataDir: string): Promise<Db> {
  return openDb({ url: `file:${join(dataDir, "metadata.db")}`, shared: true, migrates: false });
}

/** Far more schedules than the interface makes in a bench's time, so into the closed store. */
async function fill(
  dataDir: string,
  devices: readonly DeviceRecord[],
  { pending, dueAt }: { pending: number; dueAt: number },
): Promise<void> {
  const db = await openMetadata(dataDir);
  const insert = `insert into schedule (tenant, publishType, deviceIntID, scheduleName, scheduleType, crontabTime,
      topic, payload, nextAt, createAt) `;
  await db.write([
    {
      sql: `${insert} with recursive n (i) as (select 0 union all select i + 1 from n where i + 1 < ?1)
        select d.tenant, 0, d.id, 'pending', 0, ?2 + i, 'inbox', x'6f6e', ?2 + i, 0
        from n join device d on d.id = ?3`,
      args: [pending, dueAt + 3_600_000, devices[0]?.id ?? 0],
    },
    {
      sql: `${insert} select tenant, 0, id, 'due', 0, ?1, 'inbox', x'6f6e', ?1, 0 from device
        where id in (select value from json_each(?2))`,
      args: [dueAt, devices.map(({ id }) => id)],
    },
  ]);
  await db.close();
}
