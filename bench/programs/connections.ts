import { join } from "node:path";
import { type Crowd, startCrowd } from "../load/generator.js";
import type { Layer } from "../load/subscriber.js";
import { type BenchOptions, wants } from "../options.js";
import type { Figure } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";
import { type Child, startChild } from "../subjects/child.js";
import { type Memory, probed, settledMemory } from "../subjects/memory.js";
import { cpuSeconds } from "../subjects/proc.js";
import { fillRegistry, writeRegistryCredentials } from "../subjects/registry.js";
import { startTidemark, type Tidemark } from "../subjects/tidemark.js";
import { serverCertificate } from "./handshakes.js";

/** One process can open so many over TCP besides its own. TLS and WebSocket take more memory each, so fewer show it. */
const connectionsOf: Readonly<Record<Layer, number>> = { tcp: 10_000, tls: 1_000, ws: 2_000 };
const quickShare = 0.1;
const listenerOf: Readonly<Record<Layer, string>> = { tcp: "mqtt", tls: "mqtts", ws: "ws" };
/** Connect and leave before the first look, so that code and caches are there. */
const warmUpConnections = 200;

/**
 * What an idle connection costs in memory, and how long it takes until all are connected; Tidemark with user name
 * and token of a registered device each, aedes without. Every round has a fresh process.
 */
export async function benchConnections(options: BenchOptions): Promise<Figure[]> {
  const tls = await serverCertificate(options.dir);
  const figures: Figure[] = [];
  for (const layer of ["tcp", "tls", "ws"] as const) {
    if (!wants(options, layer)) continue;
    const connections = Math.round(connectionsOf[layer] * (options.quick ? quickShare : 1));
    const subject = { layer, connections, dir: options.dir, tls };
    const openers = [() => aedesContender(subject), () => tidemarkContender(subject)];
    figures.push(...(await compareAll(openers, options.rounds)));
  }
  return figures;
}

interface Subject {
  readonly layer: Layer;
  readonly connections: number;
  readonly dir: string;
  readonly tls: { readonly cert: string; readonly key: string };
}

async function aedesContender(subject: Subject): Promise<Contender> {
  const { layer, tls } = subject;
  return {
    run: async () => {
      const files = layer === "tls" ? [tls.cert, tls.key] : [];
      const environment = { ...process.env, ...probed } as Record<string, string>;
      const child = startChild("baselines/aedes.js", [layer, ...files], environment);
      const { port } = (await child.next("event", "listening")) as { port: number };
      const figures = await measure(subject, "aedes", child, (connections) =>
        startCrowd({ port, layer, connections }),
      );
      await child.stop();
      return figures;
    },
    close: async () => {},
  };
}

async function tidemarkContender(subject: Subject): Promise<Contender> {
  const { layer, dir, connections, tls } = subject;
  const ports = { tcp: {}, tls: { MQTTS_PORT: "0" }, ws: { WS_PORT: "0" } } as const;
  const environment = { ...probed, TLS_CERT: tls.cert, TLS_KEY: tls.key, ...ports[layer] };
  const service: Tidemark = await startTidemark({ dir, environment });
  await service.restart(async (dataDir) => {
    await fillRegistry(dataDir, connections, join(dir, `copy-${layer}.db`));
  });
  const credentialsFile = await writeRegistryCredentials(dir, connections);
  return {
    run: async () => {
      await service.restart();
      const port = service.portOf(listenerOf[layer]);
      return measure(subject, "tidemark", service.child(), (count) =>
        startCrowd({ port, layer, connections: count, credentialsFile }),
      );
    },
    close: service.close,
  };
}

async function measure(
  { layer, connections }: Subject,
  name: string,
  child: Child,
  connect: (connections: number) => Promise<Crowd>,
): Promise<Figure[]> {
  await (await connect(Math.min(warmUpConnections, connections))).close();
  const before = await settledMemory(child);
  const cpuBefore = cpuSeconds(child.pid);
  const crowd = await connect(connections);
  const cpuMs = ((cpuSeconds(child.pid) - cpuBefore) * 1000) / connections;
  const after = await settledMemory(child);
  await crowd.close();
  const kilobytes = (part: keyof Memory): number => (after[part] - before[part]) / 1024 / connections;
  return [
    {
      name: `${layer} ${name}, a connection`,
      value: kilobytes("rss"),
      unit: "KB",
      baseline: `${layer} aedes, a connection`,
      detail: {
        "heap KB": kilobytes("heapUsed"),
        "external KB": kilobytes("external"),
        "idle MB": before.rss / 2 ** 20,
      },
    },
    {
      name: `${layer} ${name}, to connect ${connections.toLocaleString("en-US")}`,
      value: crowd.connectSeconds,
      unit: "s",
      baseline: `${layer} aedes, to connect ${connections.toLocaleString("en-US")}`,
      detail: { "cpu ms/connection": cpuMs },
    },
  ];
}
