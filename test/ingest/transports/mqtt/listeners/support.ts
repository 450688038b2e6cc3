/** Authorities and certificates of every kind, good and bad, and clients that use them. */
import { execFile } from "node:child_process";
import { createHash, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { connectAsync, type IClientOptions, type MqttClient } from "mqtt";
import { signCertificate } from "../../../../../src/certificates/x509.js";
import { until } from "../../../../suite.js";
import type { Rec, World } from "../../../../world.js";

export interface Pair {
  /** PEM texts. */
  readonly cert: string;
  readonly key: string;
}

interface SigningPair extends Pair {
  readonly privateKey: KeyObject;
}

const dayMs = 86_400_000;

function keys(kind: "ec" | "rsa" = "ec") {
  const { publicKey, privateKey } =
    kind === "ec"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { publicKey, privateKey, key: privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
}

/** `to`: milliseconds from now until it ends. */
export async function makeAuthority(name = "Plant CA", to = 30 * dayMs): Promise<SigningPair> {
  const { publicKey, privateKey, key } = keys();
  const dates = { notBefore: seconds(Date.now() - dayMs), notAfter: seconds(Date.now() + to) };
  const cert = await signCertificate(
    { name, publicKey, purpose: "authority", ...dates },
    { certificate: null, key: privateKey },
  );
  return { cert, key, privateKey };
}

export interface Wanted {
  readonly name?: string;
  readonly purpose?: "client" | "server";
  readonly kind?: "ec" | "rsa";
  readonly hosts?: readonly string[];
  /** Milliseconds from now. */
  readonly from?: number;
  readonly to?: number;
}

/** Signed by the authority; null: by itself. */
export async function makeCertificate(authority: SigningPair | null, wanted: Wanted = {}): Promise<Pair> {
  const { name = "device", purpose = "client", kind, hosts = [], from = -60_000, to = dayMs } = wanted;
  const { publicKey, privateKey, key } = keys(kind);
  const dates = { notBefore: seconds(Date.now() + from), notAfter: seconds(Date.now() + to) };
  const issuer = {
    certificate: authority === null ? null : new X509Certificate(authority.cert),
    key: authority?.privateKey ?? privateKey,
  };
  return { cert: await signCertificate({ name, publicKey, purpose, hosts, ...dates }, issuer), key };
}

/** As the store has it. */
export function stored({ cert, key }: Pair, root: string) {
  const certificate = new X509Certificate(cert);
  const fingerprint = createHash("sha256").update(certificate.raw).digest("hex");
  return { cert, key, root, fingerprint, expiresAt: Date.parse(certificate.validTo) };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

/** Writes `<name>.crt` and `<name>.key`; answers their paths. */
export function writePair(dir: string, name: string, { cert, key }: Pair): { cert: string; key: string } {
  const paths = { cert: join(dir, `${name}.crt`), key: join(dir, `${name}.key`) };
  writeFileSync(paths.cert, cert);
  writeFileSync(paths.key, key);
  return paths;
}

/** Connected and accepted; rejects where the endpoint refuses. */
export function connectTo(
  address: string | null,
  device: Rec,
  options: IClientOptions = {},
): Promise<MqttClient> {
  return connectAsync(
    address ?? "",
    {
      username: String(device.deviceUsername),
      password: String(device.token),
      reconnectPeriod: 0,
      connectTimeout: 10_000,
      ...options,
    },
    false,
  );
}

/** By certificate, with no token. */
export function connectBy(
  address: string | null,
  device: Rec,
  ca: string,
  { cert, key }: Pair,
): Promise<MqttClient> {
  return connectAsync(
    address ?? "",
    { username: String(device.deviceUsername), reconnectPeriod: 0, connectTimeout: 10_000, ca, cert, key },
    false,
  );
}

/** Resolves when the client has been closed by the other side. */
export function thrownOut(client: MqttClient): Promise<number> {
  const begun = performance.now();
  return new Promise((resolve) => client.once("close", () => resolve(performance.now() - begun)));
}

interface Ran {
  readonly code: number;
  readonly output: string;
}

/** Runs a program to its end; `input` is its standard input. */
export async function run(program: string, args: readonly string[], input = ""): Promise<Ran> {
  const running = promisify(execFile)(program, [...args], { timeout: 20_000 });
  // A program that asks for nothing may be gone before.
  running.child.stdin?.on("error", () => undefined).end(input);
  try {
    const { stdout, stderr } = await running;
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number | string; stdout: string; stderr: string };
    if (typeof code === "string") throw error;
    return { code: code ?? -1, output: stdout + stderr };
  }
}

/** What a client says first. */
export async function helloOf(): Promise<Buffer> {
  const said: Buffer[] = [];
  const nowhere = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      said.push(chunk);
      done();
    },
  });
  connectTls({ socket: nowhere, rejectUnauthorized: false }).on("error", () => undefined);
  await until(() => said.length > 0, { what: "a ClientHello" });
  nowhere.destroy();
  return Buffer.concat(said);
}

export const authorityOf = (world: World) => readFile(join(world.dataDir, "authority.crt"), "utf8");

/** A certificate of the authority, as the API makes it: what the mutual listener asks of everyone. */
export async function issued(world: World, name: string): Promise<Pair & { readonly id: number }> {
  const { id, cert, key } = await world.make("/api/v1/certs", { name, enable: 1 });
  return { id, cert: String(cert), key: String(key) };
}
