/** The port of HTTP over TLS: whose connection it is, and TLS. */
import { createServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Admission, Admitted } from "../../ingest/access/admission.js";
import type { ClientCertificate } from "../../ingest/access/credentials.js";
import { createProxies } from "../../ingest/access/proxies.js";
import { addCount, type Meter } from "../../ingest/meter.js";
import { AdmittedSocket, type IncomingSocket } from "../../ingest/transports/sockets/incoming-socket.js";
import { createProxyLayer } from "../../ingest/transports/sockets/proxy-layer.js";
import { createTlsLayer, type TlsIdentity } from "../../ingest/transports/sockets/tls.js";
import type { Config } from "../config/config.js";

export interface SecurePortDeps {
  readonly config: Pick<Config, "tlsSuites" | "trustedProxies" | "proxyProtocol">;
  readonly meter: Meter;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  readonly admission: Admission<Admitted>;
  readonly identity: TlsIdentity;
  /** Calls `renew` with each later identity. */
  readonly follow: (renew: (identity: TlsIdentity) => void) => void;
  /** Takes each socket whose handshake is done. */
  readonly take: (socket: TLSSocket, incoming: IncomingSocket, certificate: ClientCertificate | null) => void;
}

interface SecurePort {
  /** It does not listen yet. */
  readonly server: Server;
  /** Cuts off handshakes that take too long. To be called each second. */
  sweep(): void;
}

export function createSecurePort(deps: SecurePortDeps): SecurePort {
  const { config, meter, monotonic, admission, identity, follow, take } = deps;
  const tls = createTlsLayer(
    {
      identity,
      certificates: "optional",
      suites: config.tlsSuites,
      meter,
      monotonic,
      protocols: ["http/1.1", "http/1.0"],
    },
    take,
  );
  const proxies = createProxies(config.trustedProxies);
  const layer = { proxies, protocol: config.proxyProtocol, meter, monotonic };
  const entrance = createProxyLayer(layer, tls.accept);
  follow(tls.renew);

  function accept(socket: Socket): void {
    const incoming = new AdmittedSocket(socket, admission);
    if (!admission.enter(incoming)) {
      addCount(meter.httpEnded, "full");
      return incoming.close();
    }
    socket.on("close", () => admission.leave(incoming));
    entrance.accept(socket, incoming);
  }

  return {
    server: createServer({ noDelay: true, allowHalfOpen: true, pauseOnConnect: true }, accept),
    sweep: () => {
      entrance.sweep();
      tls.sweep();
    },
  };
}
