import {
  createHash,
  createPrivateKey,
  generateKeyPair,
  type KeyObject,
  randomBytes,
  randomInt,
  X509Certificate,
} from "node:crypto";
import { promisify } from "node:util";
import { StoreError } from "../../store/lib/errors.js";
import {
  type AuthorityPair,
  keepAuthority,
  keepRoot,
  readAuthority,
  type SealedStore,
} from "../../store/metadata/users/authority.js";
import { type Config, ConfigError } from "../config/config.js";
import { parsed, readSetting } from "../config/setting-files.js";
import { signCertificate, signingAlgorithm } from "./x509.js";

/** The key and certificate with which a device authenticates; texts are PEM. */
interface Issued {
  readonly cert: string;
  readonly key: string;
  /** The authority's certificate, with those above it in CA_CERT. */
  readonly root: string;
  /** SHA-256 of the certificate's DER, in hexadecimal. */
  readonly fingerprint: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The deployment's certificate authority. */
export interface Authority {
  /** PEM. */
  readonly root: string;
  /** A new key pair and its client certificate. @throws StoreError UNAVAILABLE when the authority has expired */
  issue(name: string, now: number): Promise<Issued>;
  /** A new key pair and a server's certificate for these names. @throws StoreError as `issue` */
  issueServer(hosts: readonly string[], now: number): Promise<IssuedServer>;
  /** Whether this authority has signed it. */
  hasSigned(certificate: X509Certificate): boolean;
}

/**
 * The key and certificate with which a listener authenticates: PEM texts, the certificate followed by those between it
 * and its root.
 */
export interface IssuedServer {
  readonly cert: string;
  readonly key: string;
}

const dayMs = 86_400_000;
const clientDays = 365;
/** Short, because the certificate is renewed automatically. */
const serverDays = 90;
const authorityDays = 3650;
/** The clocks of those that check a certificate may be slow. */
const clockSkewMs = 300_000;
const makeKeyPair = promisify(generateKeyPair);

/**
 * The authority of CA_CERT and CA_KEY, or else the deployment's own, made at its first start.
 * @throws ConfigError for files that are no authority, StoreError CORRUPT if MASTER_KEY is another
 */
export async function openAuthority(
  store: SealedStore,
  { authority: given }: Pick<Config, "authority">,
  now: number,
): Promise<Authority> {
  if (given !== null) return givenAuthority(given.certPath, given.keyPath);
  let saved = await readAuthority(store);
  if (saved === undefined) {
    await keepAuthority(store, now, await makeAuthority(now));
    saved = await readAuthority(store);
  }
  if (saved === undefined) throw new StoreError("CORRUPT", "cannot read the authority just made");
  return createAuthority(saved.cert, new X509Certificate(saved.cert), createPrivateKey(saved.key));
}

function createAuthority(root: string, certificate: X509Certificate, key: KeyObject): Authority {
  const lastsUntil = Date.parse(certificate.validTo);

  async function sign(
    contents: {
      readonly name: string;
      readonly purpose: "client" | "server";
      readonly hosts?: readonly string[];
    },
    days: number,
    now: number,
  ) {
    const begin = wholeSeconds(now);
    if (lastsUntil <= begin) {
      throw new StoreError("UNAVAILABLE", "cannot issue a certificate: the authority's own has expired");
    }
    const expiresAt = Math.min(begin + days * dayMs, lastsUntil);
    const pair = await makeKeyPair("ec", { namedCurve: "P-256" });
    const dates = { notBefore: begin - clockSkewMs, notAfter: expiresAt };
    const cert = await signCertificate(
      { ...contents, ...dates, publicKey: pair.publicKey },
      { certificate, key },
    );
    return { cert, key: privatePem(pair.privateKey), expiresAt };
  }

  return {
    root,
    issue: async (name, now) => {
      const issued = await sign({ name, purpose: "client" }, clientDays, now);
      return { ...issued, root, fingerprint: computeFingerprint(issued.cert) };
    },
    issueServer: async (hosts, now) => {
      const issued = await sign({ name: "Tidemark", purpose: "server", hosts }, serverDays, now);
      return { cert: issued.cert + intermediates(root), key: issued.key };
    },
    hasSigned: (issued) => issued.checkIssued(certificate) && issued.verify(certificate.publicKey),
  };
}

/** The certificates that a client cannot be expected to have: those below the root. */
function intermediates(root: string): string {
  const above = allCertificates(root).filter((text) => {
    const one = new X509Certificate(text);
    return !one.checkIssued(one);
  });
  return above.map((text) => `${text}\n`).join("");
}

/** Notes the authority among those of this deployment, whose certificates are all recognised; PEM texts. */
export function trustedRoots(store: SealedStore, { root }: Authority, now: number): Promise<string[]> {
  return keepRoot(store, now, root);
}

async function makeAuthority(now: number): Promise<AuthorityPair> {
  const { publicKey, privateKey } = await makeKeyPair("ec", { namedCurve: "P-256" });
  const begin = wholeSeconds(now);
  const contents = {
    // Clients that trust several deployments distinguish their authorities by name.
    name: `Tidemark Authority ${randomBytes(4).toString("hex")}`,
    publicKey,
    notBefore: begin - clockSkewMs,
    notAfter: begin + authorityDays * dayMs,
  };
  const cert = await signCertificate(
    { ...contents, purpose: "authority" },
    { certificate: null, key: privateKey },
  );
  return { cert, key: privatePem(privateKey) };
}

async function givenAuthority(certPath: string, keyPath: string): Promise<Authority> {
  const text = await readSetting("CA_CERT", certPath);
  const [first = ""] = certificatePattern.exec(text) ?? [];
  const certificate = parsed("CA_CERT", certPath, "a PEM certificate", () => new X509Certificate(first));
  const keyText = await readSetting("CA_KEY", keyPath);
  const key = parsed("CA_KEY", keyPath, "a PEM private key without a password", () =>
    createPrivateKey(keyText),
  );
  if (!certificate.ca) {
    throw new ConfigError([`CA_CERT: ${certPath} is not the certificate of an authority`]);
  }
  if (!certificate.checkPrivateKey(key)) {
    throw new ConfigError([`CA_KEY: ${keyPath} is not the key of the certificate ${certPath}`]);
  }
  if (signingAlgorithm(key) === undefined) {
    throw new ConfigError([`CA_KEY: ${keyPath} must be an RSA key, or an EC key on P-256, P-384 or P-521`]);
  }
  return createAuthority(`${allCertificates(text).join("\n")}\n`, certificate, key);
}

const certificatePattern = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/;

/** Takes only certificates: a key in the same file must not reach the devices. */
function allCertificates(text: string): string[] {
  return text.match(new RegExp(certificatePattern, "g")) ?? [];
}

function privatePem(key: KeyObject): string {
  return key.export({ type: "pkcs8", format: "pem" }).toString();
}

function computeFingerprint(cert: string): string {
  return createHash("sha256").update(new X509Certificate(cert).raw).digest("hex");
}

const nameLetters = "0123456789abcdefghijklmnopqrstuvwxyz";
const nameLength = 26;

/** The common name of a new certificate: the tenant's id, a colon and 26 random characters of [0-9a-z]. */
export function newCommonName(tenantID: string): string {
  const letters = Array.from({ length: nameLength }, () => nameLetters[randomInt(nameLetters.length)]);
  return `${tenantID}:${letters.join("")}`;
}

/** Certificates have no fractions of a second. */
function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}
