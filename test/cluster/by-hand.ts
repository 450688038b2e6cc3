/**
 * npm run cluster: three brokers, InfluxDB, shared metadata, three nodes and a balancer on this machine, to try a cluster
 * and to break it. A node that ends is started again with an empty folder. Ctrl-C ends all of it and leaves nothing.
 */
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startInflux } from "../influxd/influxd.js";
import { startBrokers } from "../kafka/brokers.js";
import { openTempDir } from "../suite.js";
import { startBalancer } from "./balancer.js";
import { type Cluster, numbers, startCluster } from "./three-nodes.js";

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const ports = { mqtt: 1883, http: 8080 } as const;
const password = "cluster-by-hand";

const closers: (() => Promise<unknown>)[] = [];
let isEnding = false;

async function end(code: number): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  say("\nending");
  // What depends on others ends before them.
  for (const close of closers.reverse()) await close().catch((error: unknown) => say(String(error)));
  process.exit(code);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void end(0));

try {
  await start();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  await end(1);
}

async function start(): Promise<void> {
  const dir = await openTempDir();
  closers.push(dir.close);
  say("three brokers of Kafka …");
  const brokers = await startBrokers(3, { parent: dir.path });
  closers.push(brokers.close);
  say("InfluxDB …");
  const influx = await startInflux();
  closers.push(influx.close);
  say("three nodes …");
  const cluster = await startCluster(dir.path, influx, {
    JOURNAL_URL: `kafka://${brokers.addresses.join()}/tidemark`,
    ADMIN_PASSWORD: password,
  });
  closers.push(cluster.stop);
  const balancers = {
    mqtt: await balance(ports.mqtt, () => cluster.nodes.map(({ mqtt }) => mqtt)),
    http: await balance(ports.http, () => cluster.nodes.map(({ addresses }) => addresses.http ?? "")),
  };
  for (const [place, number] of numbers.entries()) void keepAlive(dir.path, cluster, place, number);
  say(`
devices    mqtt://127.0.0.1:${balancers.mqtt}
API        http://127.0.0.1:${balancers.http}   (key ${cluster.apiKey})
console    http://127.0.0.1:${balancers.http}/console/   (user admin, password ${password})
brokers    ${brokers.nodes.map(({ port, pid }) => `127.0.0.1:${port} (pid ${pid})`).join(", ")}
InfluxDB   ${influx.url}`);
  for (const [place, number] of numbers.entries()) await tell(dir.path, cluster, place, number);
  say(`
kill -9 any of them: a node comes back with an empty folder; a broker does not. Ctrl-C ends all.`);
}

async function balance(port: number, targets: () => readonly string[]): Promise<number> {
  const hosts = (): readonly string[] => targets().map((address) => new URL(address).host);
  // The usual port, or any one where that is taken.
  const balancer = await startBalancer(hosts, port).catch(() => startBalancer(hosts));
  closers.push(balancer.close);
  return balancer.port;
}

async function tell(dir: string, { nodes }: Cluster, place: number, number: number): Promise<void> {
  const { pid } = JSON.parse(await readFile(join(dir, `node-${place}`, "service.json"), "utf8")) as {
    pid: number;
  };
  const node = nodes[place];
  say(`node ${number}     ${node?.addresses.http}, ${node?.mqtt} (pid ${pid})`);
}

async function keepAlive(dir: string, cluster: Cluster, place: number, number: number): Promise<void> {
  for (;;) {
    const code = await cluster.nodes[place]?.ended;
    if (isEnding) return;
    say(`node ${number} has ended (${code ?? "killed"}); it is started again with an empty folder`);
    await rm(join(dir, `node-${place}`), { recursive: true, force: true });
    while (!isEnding) {
      try {
        await cluster.start(place);
        await tell(dir, cluster, place, number);
        break;
      } catch (error) {
        say(`node ${number} does not start: ${error instanceof Error ? error.message : error}`);
        await pause(2000);
      }
    }
  }
}
