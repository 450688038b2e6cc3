/** Where a node listens. */
export interface NodePorts {
  readonly host: string;
  readonly broker: number;
  readonly controller: number;
  /** Port of the listener over TLS, where there is one. */
  readonly secure: number;
  /** The listener behind its own proxy, where there is one. */
  readonly detour: Detour;
}

/** A listener that is advertised at another port, from which a test passes clients on, or does not. */
export interface Detour {
  readonly listens: number;
  readonly advertised: number;
}

/** A second listener of each node: TLS, and a user who is authenticated by SASL. */
export interface SecureListener {
  /** PEM texts; the certificate is for 127.0.0.1. */
  readonly key: string;
  readonly cert: string;
  /** Made of letters and digits. Beside that user, who may do all, PLAIN knows `guest` of the same password. */
  readonly user: string;
  readonly password: string;
  /** A connection must authenticate its user again after so many milliseconds. */
  readonly sessionMs: number;
}

interface Listeners {
  readonly secure: SecureListener | null;
  readonly hasDetour: boolean;
}

/** The configuration of node `id` of a cluster whose every node is broker and controller. */
export function nodeProperties(
  id: number,
  ports: readonly NodePorts[],
  place: { readonly dataDir: string; readonly keystore: string },
  { secure, hasDetour }: Listeners,
): string {
  const own = ports[id - 1];
  if (!own) throw new Error(`no ports of node ${id}`);
  const voters = ports.map(({ host, controller }, i) => `${i + 1}@${host}:${controller}`);
  const settings = {
    "process.roles": "broker,controller",
    "node.id": id,
    "controller.quorum.voters": voters.join(","),
    listeners: `BROKER://${own.host}:${own.broker},CONTROLLER://${own.host}:${own.controller}`,
    "advertised.listeners": `BROKER://${own.host}:${own.broker}`,
    "inter.broker.listener.name": "BROKER",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "log.dirs": place.dataDir,
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
    ...(secure === null ? {} : secureSettings(own, secure, place.keystore)),
    ...(hasDetour ? detourSettings(own) : {}),
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

/** Take the place of the settings of the same names. */
function detourSettings({ host, broker, controller, detour }: NodePorts) {
  const own = `BROKER://${host}:${broker}`;
  return {
    listeners: `${own},DETOUR://${host}:${detour.listens},CONTROLLER://${host}:${controller}`,
    "advertised.listeners": `${own},DETOUR://${host}:${detour.advertised}`,
    "listener.security.protocol.map": "BROKER:PLAINTEXT,DETOUR:PLAINTEXT,CONTROLLER:PLAINTEXT",
  };
}

/** Beside the others, some of which they take the place of. */
function secureSettings(ports: NodePorts, listener: SecureListener, keystore: string) {
  const { user, password, sessionMs } = listener;
  const advertised = `BROKER://${ports.host}:${ports.broker},SECURE://${ports.host}:${ports.secure}`;
  const of = "listener.name.secure";
  const module = "org.apache.kafka.common.security";
  const mechanisms = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
  return {
    listeners: `${advertised},CONTROLLER://${ports.host}:${ports.controller}`,
    "advertised.listeners": advertised,
    "listener.security.protocol.map": "BROKER:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT",
    [`${of}.ssl.keystore.type`]: "PEM",
    [`${of}.ssl.keystore.location`]: keystore,
    [`${of}.sasl.enabled.mechanisms`]: mechanisms.join(","),
    [`${of}.plain.sasl.jaas.config`]: `${module}.plain.PlainLoginModule required user_${user}="${password}" user_guest="${password}";`,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    // The other listeners' callers have no name.
    "super.users": `User:ANONYMOUS;User:${user}`,
    ...Object.fromEntries(
      mechanisms.flatMap((mechanism) => {
        const own = `${of}.${mechanism.toLowerCase()}`;
        const scram = [`${own}.sasl.jaas.config`, `${module}.scram.ScramLoginModule required;`];
        const session = [`${own}.connections.max.reauth.ms`, sessionMs];
        return mechanism === "PLAIN" ? [session] : [scram, session];
      }),
    ),
  };
}

/** Arguments of the tool that formats a node's folder: what SCRAM knows of the user. */
export function scramArguments({ user, password }: SecureListener): string[] {
  return ["SCRAM-SHA-256", "SCRAM-SHA-512"].flatMap((mechanism) => [
    "--add-scram",
    `${mechanism}=[name=${user},password=${password}]`,
  ]);
}
