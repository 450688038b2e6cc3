import { type KeyObject, webcrypto, type X509Certificate } from "node:crypto";
import { isIP } from "node:net";

/** The only user of the X.509 library: a certificate's contents and keys in, its PEM text out. */

interface CertificateContents {
  /** Common name: letters, digits, spaces and `: -`. */
  readonly name: string;
  readonly publicKey: KeyObject;
  /** Signs certificates, or authenticates a client or a server. */
  readonly purpose: "authority" | "client" | "server";
  /** Names and IP addresses that a server is reached by. */
  readonly hosts?: readonly string[];
  /** Milliseconds since 1970, whole seconds. */
  readonly notBefore: number;
  readonly notAfter: number;
}

interface Issuer {
  /** Null if the certificate is its own issuer. */
  readonly certificate: X509Certificate | null;
  readonly key: KeyObject;
}

interface SigningAlgorithm {
  readonly name: string;
  readonly hash: string;
  readonly namedCurve?: string;
}

/** By the curve of an EC key, or the type of any other key. */
const algorithms: Readonly<Record<string, SigningAlgorithm>> = {
  prime256v1: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  secp384r1: { name: "ECDSA", namedCurve: "P-384", hash: "SHA-384" },
  secp521r1: { name: "ECDSA", namedCurve: "P-521", hash: "SHA-512" },
  rsa: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
};

/** How the key signs certificates; undefined for kinds that cannot. */
export function signingAlgorithm(key: KeyObject): SigningAlgorithm | undefined {
  return algorithms[key.asymmetricKeyDetails?.namedCurve ?? key.asymmetricKeyType ?? ""];
}

/** The signed certificate as PEM text. */
export async function signCertificate(contents: CertificateContents, issuer: Issuer): Promise<string> {
  const algorithm = signingAlgorithm(issuer.key);
  if (algorithm === undefined) throw new Error("cannot sign a certificate: the key is of no known kind");
  library ??= load();
  const x509 = await library;
  const above = issuer.certificate === null ? null : new x509.X509Certificate(issuer.certificate.raw);
  const subject = [{ CN: [contents.name] }];
  const publicKey = contents.publicKey.export({ type: "spki", format: "der" });
  const aboveID = above?.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId;
  const certificate = await x509.X509CertificateGenerator.create({
    subject,
    // The issuer's name as it is encoded in its certificate: verifiers compare the two.
    issuer: above?.subjectName ?? subject,
    notBefore: new Date(contents.notBefore),
    notAfter: new Date(contents.notAfter),
    publicKey,
    signingKey: await webcrypto.subtle.importKey(
      "pkcs8",
      issuer.key.export({ type: "pkcs8", format: "der" }),
      algorithm,
      false,
      ["sign"],
    ),
    signingAlgorithm: algorithm,
    extensions: [
      ...createExtensions(x509, contents),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
      ...(aboveID === undefined ? [] : [new x509.AuthorityKeyIdentifierExtension(aboveID)]),
    ],
  });
  return `${certificate.toString("pem")}\n`;
}

type Library = typeof import("@peculiar/x509");

function createExtensions(x509: Library, { purpose, hosts = [] }: CertificateContents) {
  const { keyCertSign, cRLSign, digitalSignature } = x509.KeyUsageFlags;
  if (purpose === "authority") {
    return [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(keyCertSign | cRLSign, true),
    ];
  }
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([
      purpose === "client" ? x509.ExtendedKeyUsage.clientAuth : x509.ExtendedKeyUsage.serverAuth,
    ]),
    ...(hosts.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(hosts.map(toSubjectName))]),
  ];
}

function toSubjectName(host: string): { type: "ip" | "dns"; value: string } {
  return { type: isIP(host) === 0 ? "dns" : "ip", value: host };
}

let library: Promise<Library> | undefined;

/** Loaded when the first certificate is made, because it takes 0.2 s and 20 MB. */
async function load(): Promise<Library> {
  // Its parts register themselves with a container that asks for this polyfill.
  await import("reflect-metadata");
  return import("@peculiar/x509");
}
