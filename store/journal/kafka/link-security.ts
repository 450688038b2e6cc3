/** How brokers are spoken to: in the clear or over TLS, as nobody or as a user. */

/** How a user is proved, by the name that Kafka gives it. */
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
