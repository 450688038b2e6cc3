/** How brokers are spoken to: in the clear or over TLS, as nobody or as a user. */
import { isIP } from "node:net";

/** How a user authenticates, by Kafka's name for it. */
export type SaslMechanism = "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";

export interface SaslUser {
  readonly mechanism: SaslMechanism;
  readonly user: string;
  readonly password: string;
}

export interface LinkSecurity {
  /** `ca`: PEM of the authorities that are trusted; null: those that Node.js trusts. Null: in the clear. */
  readonly tls: { readonly ca: string | null } | null;
  /** Null: the brokers let everybody in. */
  readonly sasl: SaslUser | null;
}

/** Options of the connection to one broker, whose certificate must name that host. */
export function tlsOptions(host: string, { tls }: LinkSecurity) {
  if (tls === null) return {};
  return {
    tls: tls.ca === null ? {} : { ca: tls.ca },
    // A server is asked for by a name alone; an address is compared with its certificate without that.
    ...(isIP(host) === 0 ? { tlsServerName: host } : {}),
  };
}
