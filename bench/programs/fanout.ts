import { setTimeout as pause } from "node:timers/promises";
import { inParallel } from "../load/api-client.js";
import { provision, writeCredentials } from "../load/fleet.js";
import { type Crowd, startCrowd } from "../load/generator.js";
import type { BenchOptions } from "../options.js";
import type { Figure } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";
import { startChild } from "../subjects/child.js";
import { cpuSeconds } from "../subjects/proc.js";
import { startTidemark, type Tidemark } from "../subjects/tidemark.js";

const devicesCount = 1_000;
const payload = '{"setpoint":20.5,"mode":"eco"}';
const taskPollMs = 100;

/** One way of sending a message to every device; resolves once nothing of it is left to do. */
interface Way {
  readonly name: string;
  readonly baseline: string;
  send(): Promise<void>;
}

/**
 * One message to each of 1,000 connected devices, delivered a second: from the call until the last device has it.
 * Tidemark is called over HTTP; aedes publishes to 1,000 topics from within.
 */
export async function benchFanout(options: BenchOptions): Promise<Figure[]> {
  return compareAll([() => aedesContender(options), () => tidemarkContender(options)], options.rounds);
}

async function aedesContender({ seconds }: BenchOptions): Promise<Contender> {
  const child = startChild("baselines/aedes.js", []);
  const { port } = (await child.next("event", "listening")) as { port: number };
  const crowd = await startCrowd({ port, layer: "tcp", connections: devicesCount, filter: "fanout/%n" });
  const ways = ([0, 1] as const).map((qos) => ({
    name: `aedes, QoS ${qos}`,
    baseline: `aedes, QoS ${qos}`,
    send: async () => child.write({ topics: devicesCount, qos }),
  }));
  return contender(
    ways,
    crowd,
    () => child.pid,
    seconds,
    () => child.stop(),
  );
}

async function tidemarkContender({ dir, seconds }: BenchOptions): Promise<Contender> {
  const service = await startTidemark({ dir });
  const fleet = await provision(service.api(), devicesCount);
  const group = await service.api().post<{ id: number }>("/api/v1/groups", {
    groupName: "bench",
    productID: fleet.productID,
  });
  const ids = fleet.devices.map(({ id }) => id);
  const joined = await service.api().call("POST", `/api/v1/groups/${group.id}/devices`, { ids });
  if (joined.status !== 201) throw new Error(`cannot fill the group: ${joined.status} ${joined.text}`);
  const credentialsFile = await writeCredentials(dir, fleet.devices);
  const port = service.mqttPort();
  const crowd = await startCrowd({ port, layer: "tcp", connections: devicesCount, credentialsFile });
  const ways: Way[] = [
    {
      name: "tidemark group_publish without receipts, QoS 0",
      baseline: "aedes, QoS 0",
      send: () => publishToGroup(service, group.id, 0),
    },
    {
      name: "tidemark group_publish with receipts, QoS 1",
      baseline: "aedes, QoS 1",
      send: () => publishToGroup(service, group.id, 1),
    },
    {
      name: "tidemark device_publish, 32 at once, QoS 1",
      baseline: "aedes, QoS 1",
      send: () =>
        inParallel(ids.length, async (i) => {
          await service.api().post("/api/v1/device_publish", { deviceIntID: ids[i], payload });
        }),
    },
  ];
  return contender(ways, crowd, service.pid, seconds, service.close);
}

async function publishToGroup(service: Tidemark, groupIntID: number, needAck: 0 | 1): Promise<void> {
  const body = { groupIntID, payload, needAck };
  const { statusUrl } = await service.api().post<{ statusUrl: string }>("/api/v1/group_publish", body);
  for (;;) {
    const { state } = await service.api().get<{ state: string }>(`/api/v1${statusUrl}`);
    if (state === "SUCCESS") return;
    if (state === "FAILURE") throw new Error("cannot measure: a group's task failed");
    await pause(taskPollMs);
  }
}

function contender(
  ways: readonly Way[],
  crowd: Crowd,
  pid: () => number,
  seconds: number,
  close: () => Promise<void>,
): Contender {
  let total = 0;

  /** Seconds until the last of them has its message. */
  async function once(way: Way): Promise<number> {
    total += devicesCount;
    const started = performance.timeOrigin + performance.now();
    const [at] = await Promise.all([crowd.received(total), way.send()]);
    return (at - started) / 1000;
  }
  async function figureOf(way: Way): Promise<Figure> {
    await once(way);
    const cpuBefore = cpuSeconds(pid());
    const end = performance.now() + seconds * 1000;
    const times: number[] = [];
    while (performance.now() < end) times.push(await once(way));
    const cpu = ((cpuSeconds(pid()) - cpuBefore) * 1e6) / (times.length * devicesCount);
    const sum = times.reduce((all, one) => all + one, 0);
    return {
      name: way.name,
      value: (times.length * devicesCount) / sum,
      unit: "msg/s",
      baseline: way.baseline,
      detail: { "fan-outs": times.length, "slowest s": Math.max(...times), "cpu µs/msg": cpu },
    };
  }
  return {
    run: async () => {
      const figures: Figure[] = [];
      for (const way of ways) figures.push(await figureOf(way));
      return figures;
    },
    close: async () => {
      await crowd.close();
      await close();
    },
  };
}
