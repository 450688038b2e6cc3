/**
 * One honest device and one prober, in a process of their own: `node dist/bench/evil/neighbour.js '<NeighbourOptions>'`.
 * The device publishes at QoS 1 every ten milliseconds, one message in flight; the prober asks `/readyz` every fifty. A
 * line of standard input names a span that ends with it; `{"event":"span"}` follows with what was felt since the line
 * before. What is still unanswered counts with the time that it has waited so far.
 */
import { Agent, get } from "node:http";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { percentileOf } from "../load/histogram.js";
import { type Credential, encodeConnect, encodePublish } from "../load/packets.js";
import { createScanner } from "../load/scanner.js";
import { starvedMs } from "../subjects/proc.js";

interface NeighbourOptions {
  readonly mqttPort: number;
  readonly http: string;
  readonly credential: Credential;
  /** The service's process. */
  readonly pid: number;
}

/** What the neighbour felt; milliseconds. */
export interface Felt {
  readonly acked: number;
  readonly pubackP50: number;
  readonly pubackMax: number;
  readonly readyzMax: number;
  /** Without the time in which the service was ready to run and had no processor: the attacker works on the same ones. */
  readonly ownPubackMax: number;
  readonly ownReadyzMax: number;
  /** Answers other than 200, connections that failed or broke off. */
  readonly failures: number;
}

const publishMs = 10;
const probeMs = 50;

/** A wait under way: since when, and how long the service had gone without a processor at that time. */
interface Asked {
  readonly at: number;
  readonly starved: number;
}

function main({ mqttPort, http, credential, pid }: NeighbourOptions): void {
  let waits = noWaits();
  let acked = 0;
  let failures = 0;
  let sent: Asked | null = null;
  let asked: Asked | null = null;
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
        if (sent !== null) felt("puback", sent);
        sent = null;
        acked++;
      },
    }),
  );
  const now = (): Asked => ({ at: performance.now(), starved: starvedMs(pid) });
  function felt(kind: "puback" | "readyz", since: Asked): void {
    const { at, starved } = now();
    waits[kind].push(at - since.at);
    waits.own[kind] = Math.max(waits.own[kind], at - since.at - (starved - since.starved));
  }
  function publish(): void {
    if (sent !== null) return;
    sent = now();
    packetID = (packetID % 65_535) + 1;
    socket.write(encodePublish("telemetry", packetID, Buffer.from(`{"temp":${packetID}}`)));
  }

  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  function probe(): void {
    if (asked !== null) return;
    asked = now();
    const done = (ok: boolean): void => {
      if (asked !== null) felt("readyz", asked);
      asked = null;
      if (!ok) failures++;
    };
    get(`${http}/readyz`, { agent }, (answer) => {
      answer.resume().once("end", () => done(answer.statusCode === 200));
    }).once("error", () => done(false));
  }

  createInterface({ input: process.stdin })
    .on("line", () => {
      if (sent !== null) felt("puback", sent);
      if (asked !== null) felt("readyz", asked);
      const span: Felt = {
        acked,
        pubackP50: percentileOf(waits.puback, 0.5),
        pubackMax: Math.max(0, ...waits.puback),
        readyzMax: Math.max(0, ...waits.readyz),
        ownPubackMax: waits.own.puback,
        ownReadyzMax: waits.own.readyz,
        failures,
      };
      waits = noWaits();
      failures = 0;
      print({ event: "span", ...span });
    })
    .on("close", () => process.exit(0));
}

const noWaits = () => ({
  puback: [] as number[],
  readyz: [] as number[],
  own: { puback: 0, readyz: 0 },
});

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

main(JSON.parse(process.argv[2] ?? "{}") as NeighbourOptions);
