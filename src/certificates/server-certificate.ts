import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { domainToASCII } from "node:url";
import { asError } from "../../store/lib/errors.js";
import { formatPlace, type Vault } from "../../store/metadata/db/secrets.js";
import { type Config, ConfigError, type PemFiles } from "../config/config.js";
import { parsed, readSetting } from "../config/setting-files.js";
import type { Authority, IssuedServer } from "./authority.js";

/** The certificates of the TLS listeners: those of TLS_CERT and TLS_KEY, or else one that the authority issues. */
export interface ServerCertificate {
  /**
   * Reads the certificates again, or issues another. @throws ConfigError for files that cannot be used, StoreError if
   * none is issued
   */
  load(now: number): Promise<readonly IssuedServer[]>;
  /** Whether the certificates are due to be loaded again. */
  isDue(current: readonly IssuedServer[], now: number): boolean;
}

interface Makings {
  readonly config: Pick<Config, "tls" | "dataDir" | "host" | "publicHost">;
  readonly authority: Authority;
  readonly vault: Vault;
  /** The stored certificate cannot be used and is replaced. */
  readonly onFault: (path: string, error: Error) => void;
}

export function createServerCertificate({ config, authority, vault, onFault }: Makings): ServerCertificate {
  const { tls: files } = config;
  if (files !== null) return { load: () => givenCertificates(files), isDue: () => false };
  const hosts = certificateHosts(config);
  const path = join(config.dataDir, "server-certificate.json");
  /** The stored certificate serves as long as it equals what would be issued today. */
  const serves = ({ cert }: IssuedServer, now: number): boolean => {
    const certificate = new X509Certificate(cert);
    const fits = hosts.every((host) => names(certificate, host)) && authority.hasSigned(certificate);
    return fits && Date.parse(certificate.validTo) - now > renewBeforeMs;
  };
  return {
    load: async (now) => {
      const saved = await readSaved(path, vault, (error) => onFault(path, error));
      if (saved !== null && serves(saved, now)) return [saved];
      const issued = await authority.issueServer(hosts, now);
      await save(path, vault, issued);
      return [issued];
    },
    isDue: (current, now) => !current.every((one) => serves(one, now)),
  };
}

const renewBeforeMs = 30 * 86_400_000;
const format = 2;
/** The format of files whose key was sealed without naming its place. */
const unplacedFormat = 1;
const place = formatPlace("server-certificate.json", null, "");

/** The names by which devices reach the service. A wildcard address is not one of them. */
export function certificateHosts({ host, publicHost }: Pick<Config, "host" | "publicHost">): string[] {
  const given = [publicHost ?? "", host].map((text) => text.replace(/^\[(.*)\]$/, "$1"));
  const all = [...given, "localhost", "127.0.0.1", "::1"];
  const names = all.map((name) => (isIP(name) === 0 ? domainToASCII(name) : name));
  return [...new Set(names)].filter((name) => name !== "" && name !== "0.0.0.0" && name !== "::");
}

function names(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

/** Null if there is no certificate that this process can use; another is then issued, and `onFault` gets the reason. */
async function readSaved(
  path: string,
  vault: Vault,
  onFault: (error: Error) => void,
): Promise<IssuedServer | null> {
  try {
    const saved = JSON.parse(await readFile(path, "utf8")) as { format: number; cert: string; key: string };
    if (saved.format !== format && saved.format !== unplacedFormat)
      throw new Error(`it has format ${saved.format}`);
    const sealed = Buffer.from(saved.key, "base64");
    const key = saved.format === format ? vault.open(sealed, place) : vault.openUnplaced(sealed);
    if (!new X509Certificate(saved.cert).checkPrivateKey(createPrivateKey(key))) {
      throw new Error("its key is not the certificate's");
    }
    const pair = { cert: saved.cert, key };
    if (saved.format !== format) await save(path, vault, pair);
    return pair;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") onFault(asError(error));
    return null;
  }
}

/** Stores the certificate, and the key sealed with the master key. */
async function save(path: string, vault: Vault, { cert, key }: IssuedServer): Promise<void> {
  const sealed = Buffer.from(vault.seal(key, place)).toString("base64");
  await writeFile(`${path}.new`, JSON.stringify({ format, cert, key: sealed }), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

/** OpenSSL keeps one certificate of each kind of key, and takes the one that the client can check. */
async function givenCertificates(files: readonly PemFiles[]): Promise<IssuedServer[]> {
  const given = await Promise.all(files.map(givenCertificate));
  const [first, second] = given.map(readKeyType);
  if (first === second) {
    const paths = files.map(({ certPath }) => certPath).join(" and ");
    throw new ConfigError([
      `TLS_CERT: ${paths} both have a key of the kind ${first}: give one of EC and one of RSA`,
    ]);
  }
  return given;
}

/** The kind of the certificate's key: `ec`, `rsa`, `ed25519`. */
export function readKeyType({ cert }: IssuedServer): string {
  return new X509Certificate(cert).publicKey.asymmetricKeyType ?? "";
}

async function givenCertificate({ certPath, keyPath }: PemFiles): Promise<IssuedServer> {
  const cert = await readSetting("TLS_CERT", certPath);
  const key = await readSetting("TLS_KEY", keyPath);
  const certificate = parsed("TLS_CERT", certPath, "a PEM certificate", () => new X509Certificate(cert));
  const privateKey = parsed("TLS_KEY", keyPath, "a PEM private key without a password", () =>
    createPrivateKey(key),
  );
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new ConfigError([`TLS_KEY: ${keyPath} is not the key of the certificate ${certPath}`]);
  }
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError([`TLS_CERT: cannot serve with ${certPath}: ${why}`]);
  }
  return { cert, key };
}

/** When the certificate ends, milliseconds since 1970. */
export function readExpiry({ cert }: IssuedServer): number {
  return Date.parse(new X509Certificate(cert).validTo);
}
