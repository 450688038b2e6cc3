/**
 * One honest device and one prober, in a process of their own: `node dist/bench/evil/neighbour.js '<NeighbourOptions>'`.
 * The device publishes at QoS 1 every ten milliseconds, one message in flight; the prober asks `/readyz` every fifty. A
 * line of standard input names a span that ends with it; `{"event":"span"}` follows with what was felt since the line
 * before. What is still unanswered counts with the time that it has waited so far.
 */
import { Agent, get } from "node:http";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { percentileOf } from "../histogram.js";
import { type Credential, encodeConnect, encodePublish } from "../packets.js";
import { createScanner } from "../scanner.js";

export interface NeighbourOptions {
  readonly mqttPort: number;
  readonly http: string;
  readonly credential: Credential;
}

/** What the neighbour felt; milliseconds. */
export interface Felt {
  readonly acked: number;
  readonly pubackP50: number;
  readonly pubackMax: number;
  readonly readyzMax: number;
  /** Answers other than 200, connections that failed or broke off. */
  readonly failures: number;
}

const publishMs = 10;
const probeMs = 50;

function main({ mqttPort, http, credential }: NeighbourOptions): void {
  const waits = { puback: [] as number[], readyz: [] as number[] };
  let acked = 0;
  let failures = 0;
  let sentAt: number | null = null;
  let askedAt: number | null = null;
  let packetID = 0;

  const socket = connect({ port: mqttPort, host: "127.0.0.1", noDelay: true }, () =>
    socket.write(encodeConnect("neighbour", credential)),
  );
  socket.on("error", () => failures++);
  socket.on("close", () => failures++);
  socket.on(
    "data",
    createScanner({
      connected: () => {
        print({ event: "ready" });
        setInterval(publish, publishMs);
        setInterval(probe, probeMs);
      },
      subscribed: () => undefined,
      message: () => undefined,
      acked: () => {
        if (sentAt !== null) waits.puback.push(performance.now() - sentAt);
        sentAt = null;
        acked++;
      },
    }),
  );
  function publish(): void {
    if (sentAt !== null) return;
    sentAt = performance.now();
    packetID = (packetID % 65_535) + 1;
    socket.write(encodePublish("telemetry", packetID, Buffer.from(`{"temp":${packetID}}`)));
  }

  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  function probe(): void {
    if (askedAt !== null) return;
    askedAt = performance.now();
    const done = (ok: boolean): void => {
      if (askedAt !== null) waits.readyz.push(performance.now() - askedAt);
      askedAt = null;
      if (!ok) failures++;
    };
    get(`${http}/readyz`, { agent }, (answer) => {
      answer.resume().once("end", () => done(answer.statusCode === 200));
    }).once("error", () => done(false));
  }

  createInterface({ input: process.stdin })
    .on("line", () => {
      const now = performance.now();
      const felt: Felt = {
        acked,
        pubackP50: percentileOf(waits.puback, 0.5),
        pubackMax: Math.max(0, ...waits.puback, sentAt === null ? 0 : now - sentAt),
        readyzMax: Math.max(0, ...waits.readyz, askedAt === null ? 0 : now - askedAt),
        failures,
      };
      waits.puback = [];
      waits.readyz = [];
      failures = 0;
      print({ event: "span", ...felt });
    })
    .on("close", () => process.exit(0));
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

main(JSON.parse(process.argv[2] ?? "{}") as NeighbourOptions);
