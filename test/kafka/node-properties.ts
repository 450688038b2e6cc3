export interface NodePorts {
  readonly broker: number;
  readonly controller: number;
}

/** The configuration of node `id` of a cluster whose every node is broker and controller. */
export function nodeProperties(id: number, ports: readonly NodePorts[], dataDir: string): string {
  const own = ports[id - 1];
  if (!own) throw new Error(`no ports of node ${id}`);
  const voters = ports.map(({ controller }, i) => `${i + 1}@127.0.0.1:${controller}`);
  const settings = {
    "process.roles": "broker,controller",
    "node.id": id,
    "controller.quorum.voters": voters.join(","),
    listeners: `BROKER://127.0.0.1:${own.broker},CONTROLLER://127.0.0.1:${own.controller}`,
    "advertised.listeners": `BROKER://127.0.0.1:${own.broker}`,
    "inter.broker.listener.name": "BROKER",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.dirs": dataDir,
    "auto.create.topics.enable": false,
    "unclean.leader.election.enable": false,
    // A node that is dead or frozen is given up after seconds, so that tests are quick.
    "broker.session.timeout.ms": 2500,
    "broker.heartbeat.interval.ms": 400,
    "replica.lag.time.max.ms": 2500,
    "replica.fetch.wait.max.ms": 100,
    "controller.quorum.election.timeout.ms": 600,
    "controller.quorum.fetch.timeout.ms": 1200,
    "controller.quorum.request.timeout.ms": 1200,
    "replica.socket.timeout.ms": 2500,
    "controller.socket.timeout.ms": 2500,
    "num.network.threads": 2,
    "num.io.threads": 4,
    "background.threads": 2,
    "num.recovery.threads.per.data.dir": 1,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}
