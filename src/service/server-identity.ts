/**
 * The identity of the TLS listeners: the server's certificates, renewed when due, and the authorities that they trust.
 */
import type { TlsIdentity } from "../../ingest/transports/sockets/tls.js";
import type { Clock } from "../../store/lib/clock.js";
import { asError } from "../../store/lib/errors.js";
import type { IssuedServer } from "../certificates/authority.js";
import { readExpiry, readKeyType, type ServerCertificate } from "../certificates/server-certificate.js";
import { ConfigError } from "../config/config.js";
import type { Logger } from "../observability/log.js";

interface ServerIdentityDeps {
  readonly certificate: ServerCertificate;
  /** Authorities whose client certificates are recognised, PEM. */
  readonly trusted: () => Promise<readonly string[]>;
  readonly log: Logger;
  /** Notes that TLS has trouble, or that it works again (null). */
  readonly note: (trouble: string | null) => void;
  /** Called with when each certificate in use expires, milliseconds since 1970, by name: `server`, or `server_ec` … */
  readonly onEnd: (name: string, end: number) => void;
  readonly clock: Clock;
}

export interface ServerIdentity {
  /** Null if no listener wants one, or none could be obtained. */
  current(): TlsIdentity | null;
  /** Calls `renew` with each later identity. @throws whatever the listener throws: the old one stays in use */
  follow(renew: (identity: TlsIdentity) => void): void;
  /** Loads the certificate again; a bad one leaves the present one in use. */
  renew(): Promise<void>;
  /** From now on checks now and then whether another certificate is due. */
  renewWhenDue(): void;
  close(): void;
}

const renewalCheckMs = 3_600_000;

/** @param wanted whether any listener speaks TLS @throws ConfigError for a certificate that cannot be used */
export async function openServerIdentity(
  { certificate, trusted, log, note, onEnd, clock: { now } }: ServerIdentityDeps,
  wanted: boolean,
): Promise<ServerIdentity> {
  const followers: ((identity: TlsIdentity) => void)[] = [];
  let identity: TlsIdentity | null = null;
  let renewal: NodeJS.Timeout | undefined;

  async function load(): Promise<TlsIdentity> {
    return { certificates: await certificate.load(now()), trusted: await trusted() };
  }

  function noteEnds({ certificates }: TlsIdentity): void {
    let trouble: string | null = null;
    for (const [name, end] of listExpiries(certificates)) {
      onEnd(name, end);
      if (end > now()) continue;
      trouble = "the server's certificate has expired";
      log.warn(trouble, { certificate: name, end: new Date(end).toISOString() });
    }
    note(trouble);
  }

  /** The authority may be unable to issue; everything that needs no certificate must still work. */
  async function first(): Promise<TlsIdentity | null> {
    try {
      const loaded = await load();
      noteEnds(loaded);
      return loaded;
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      const { message } = asError(error);
      log.error("no TLS listener is open: there is no certificate for the server", { error });
      note(message);
      return null;
    }
  }

  async function renew(): Promise<void> {
    if (identity === null) return;
    try {
      const loaded = await load();
      if (isExpired(loaded, now()) && !isExpired(identity, now())) throw new Error("the new one has expired");
      for (const follow of followers) follow(loaded);
      identity = loaded;
      noteEnds(loaded);
      for (const [certificate, end] of listExpiries(loaded.certificates))
        log.info("TLS: certificate loaded", { certificate, end: new Date(end).toISOString() });
    } catch (error) {
      const { message } = asError(error);
      log.error(`TLS: the certificate in use stays, the new one cannot be used: ${message}`);
      note(message);
    }
  }

  if (wanted) identity = await first();
  return {
    current: () => identity,
    follow: (follow) => {
      followers.push(follow);
    },
    renew,
    renewWhenDue: () => {
      renewal = setInterval(() => {
        if (identity !== null && certificate.isDue(identity.certificates, now())) void renew();
      }, renewalCheckMs);
    },
    close: () => clearInterval(renewal),
  };
}

/** When each ends, by its name in the log and in `/metrics`. */
function listExpiries(certificates: readonly IssuedServer[]): [name: string, end: number][] {
  return certificates.map((one) => [
    certificates.length === 1 ? "server" : `server_${readKeyType(one)}`,
    readExpiry(one),
  ]);
}

function isExpired({ certificates }: TlsIdentity, now: number): boolean {
  return certificates.some((one) => readExpiry(one) <= now);
}
