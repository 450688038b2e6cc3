/**
 * Devices that wait for commands, a process of its own: `node dist/bench/load/listeners.js '<ListenersOptions>'`. Each
 * connects with a clean session and acknowledges what comes. The end of input ends it.
 */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { type Credential, encodeConnect } from "./packets.js";
import { createScanner } from "./scanner.js";

export interface ListenersOptions {
  readonly port: number;
  /** A JSON array of {username, password}: one connection each. */
  readonly credentialsFile: string;
}

const connectingMax = 100;
const receiveBuffer = Buffer.alloc(64 * 1024);

function listen(port: number, credential: Credential, index: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const answer = Buffer.from([0x40, 2, 0, 0]);
    const scan = createScanner({
      connected: (code) => (code === 0 ? resolve() : reject(new Error(`CONNACK ${code}`))),
      acked: () => undefined,
      message: (packetId) => {
        if (packetId === null) return;
        answer.writeUInt16BE(packetId, 2);
        socket.write(Buffer.from(answer));
      },
    });
    const callback = (length: number): boolean => {
      scan(receiveBuffer.subarray(0, length));
      return true;
    };
    const socket = connect({
      host: "127.0.0.1",
      port,
      noDelay: true,
      onread: { buffer: receiveBuffer, callback },
    });
    socket.on("connect", () => socket.write(encodeConnect(`listener-${index}`, credential)));
    socket.on("error", reject);
  });
}

const { port, credentialsFile } = JSON.parse(process.argv[2] ?? "{}") as ListenersOptions;
const credentials = JSON.parse(readFileSync(credentialsFile, "utf8")) as Credential[];
let next = 0;
const lane = async (): Promise<void> => {
  for (let i = next++; i < credentials.length; i = next++)
    await listen(port, credentials[i] as Credential, i);
};
await Promise.all(Array.from({ length: connectingMax }, lane));
process.stdout.write(`${JSON.stringify({ event: "connected", connections: credentials.length })}\n`);
process.stdin.on("end", () => process.exit(0)).resume();
