import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { signCertificate } from "../../src/certificates/x509.js";
import type { HandshakerRound } from "../load/handshaker.js";
import type { BenchOptions } from "../options.js";
import type { Figure } from "../report.js";
import { type Contender, compareAll } from "../rounds.js";
import { type Child, startChild } from "../subjects/child.js";
import { cpuSeconds } from "../subjects/proc.js";
import { startTidemark } from "../subjects/tidemark.js";

const lanes = 50;
const versions = ["TLSv1.3", "TLSv1.2"] as const;

/** Full TLS handshakes a second on the MQTT listener, against Node's bare TLS server with the same certificate. */
export async function benchHandshakes(options: BenchOptions): Promise<Figure[]> {
  const files = await serverCertificate(options.dir);
  const client = startChild("load/handshaker.js", []);
  await client.next("event", "ready");
  const openers = [
    async () => {
      const child = startChild("baselines/bare-tls.js", [files.cert, files.key]);
      const { port } = (await child.next("event", "listening")) as { port: number };
      return contender(
        "bare",
        client,
        port,
        () => child.pid,
        options.seconds,
        () => child.stop(),
      );
    },
    async () => {
      const environment = { MQTTS_PORT: "0", TLS_CERT: files.cert, TLS_KEY: files.key };
      const service = await startTidemark({ dir: options.dir, environment });
      const port = service.portOf("mqtts");
      return contender("tidemark", client, port, service.pid, options.seconds, service.close);
    },
  ];
  try {
    return await compareAll(openers, options.rounds);
  } finally {
    await client.stop();
  }
}

async function contender(
  name: string,
  client: Child,
  port: number,
  pid: () => number,
  seconds: number,
  close: () => Promise<void>,
): Promise<Contender> {
  const round = async (version: HandshakerRound["version"], length: number): Promise<Figure> => {
    const cpuBefore = cpuSeconds(pid());
    const result = client.next("event", "round");
    client.write({ port, seconds: length, lanes, version } satisfies HandshakerRound);
    const { rate, errors, p50, p99 } = (await result) as Record<"rate" | "errors" | "p50" | "p99", number>;
    const cpu = ((cpuSeconds(pid()) - cpuBefore) * 1e6) / Math.max(1, rate * length);
    const detail = { "p50 ms": p50, "p99 ms": p99, "cpu µs/handshake": cpu };
    return {
      name: `${version} ${name}`,
      value: rate,
      unit: "handshakes/s",
      baseline: `${version} bare`,
      detail: errors > 0 ? { ...detail, errors } : detail,
    };
  };
  await round("TLSv1.3", 1);
  return {
    run: async () => {
      const figures: Figure[] = [];
      for (const version of versions) figures.push(await round(version, seconds));
      return figures;
    },
    close,
  };
}

/** A P-256 certificate, as the deployment's authority issues them. */
export async function serverCertificate(dir: string): Promise<{ cert: string; key: string }> {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const notBefore = Math.floor(Date.now() / 1000) * 1000 - 60_000;
  const cert = await signCertificate(
    {
      name: "bench",
      publicKey,
      purpose: "server" as const,
      hosts: ["127.0.0.1"],
      notBefore,
      notAfter: notBefore + 86_400_000,
    },
    { certificate: null, key: privateKey },
  );
  const paths = { cert: join(dir, "server.crt"), key: join(dir, "server.key") };
  await writeFile(paths.cert, cert);
  await writeFile(paths.key, privateKey.export({ type: "pkcs8", format: "pem" }));
  return paths;
}
