/** The keys with which the nodes of a cluster authenticate to each other; they are derived from MASTER_KEY. */
import { hkdfSync } from "node:crypto";
import type { ConnectionOptions, SecureContextOptions } from "node:tls";

/**
 * The key for links to the node of this number, 32 bytes (HKDF, RFC 5869). Each node has its own, so that a link to the
 * wrong node, by a wrong address for instance, is refused.
 */
export function linkKey(masterKey: Uint8Array, node: number): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", masterKey, "", `tidemark cluster, links to node ${node}`, 32));
}

/**
 * TLS 1.2 with a pre-shared key and forward secrecy (RFC 5489, RFC 7905): both sides authenticate with the key, and
 * there are no certificates to issue or renew. Node's pskCallback does not support TLS 1.3.
 */
export const linkSuites: SecureContextOptions = {
  minVersion: "TLSv1.2",
  maxVersion: "TLSv1.2",
  ciphers: "ECDHE-PSK-CHACHA20-POLY1305",
};

/** What a link carries, as agreed in its handshake (ALPN, RFC 7301). */
export const linkProtocols = {
  mqtt: "tidemark-mqtt",
  http: "http/1.1",
  calls: "tidemark-calls",
  live: "tidemark-live",
  echo: "tidemark-echo",
  self: "tidemark-self",
} as const;

/** For a link from node `from`, with the key of the node that it goes to. */
export function linkOptions(key: Uint8Array, from: number, protocol: string): ConnectionOptions {
  return {
    ...linkSuites,
    ALPNProtocols: [protocol],
    pskCallback: () => ({ psk: key, identity: String(from) }),
    // The key has authenticated the node: there is no certificate.
    checkServerIdentity: () => undefined,
  };
}

/** How often TCP looks whether the other side of a link is there: one that has gone without a word is noticed. */
export const aliveMs = 30_000;
