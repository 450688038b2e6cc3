/**
 * Devices that wait for a command over HTTP, in a process of their own: `node dist/bench/load/polls.js '<PollOptions>'`.
 * It sends all requests and prints `{"event":"sent"}`. The end of input ends it.
 */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { startChild } from "../subjects/child.js";
import type { Credential } from "./packets.js";

interface PollOptions {
  readonly port: number;
  /** A JSON array of {username, password}, one a poll. */
  readonly credentialsFile: string;
  readonly polls: number;
}

interface Polls {
  close(): Promise<void>;
}

/** Resolves once all requests are sent. */
export async function startPolls(options: PollOptions): Promise<Polls> {
  const child = startChild("load/polls.js", [JSON.stringify(options)]);
  await child.next("event", "sent");
  return { close: () => child.stop() };
}

const connectingMax = 200;

async function main({ port, credentialsFile, polls }: PollOptions): Promise<void> {
  const credentials = JSON.parse(readFileSync(credentialsFile, "utf8")) as Credential[];
  const sockets: Socket[] = [];
  async function openInTurn(): Promise<void> {
    while (sockets.length < polls) {
      const { username, password } = credentials[sockets.length % credentials.length] as Credential;
      const login = Buffer.from(`${username}:${password}`).toString("base64");
      const socket = connect({ port, host: "127.0.0.1" });
      sockets.push(socket);
      socket.on("error", () => undefined);
      await new Promise((resolve) => socket.once("connect", resolve));
      socket.write(
        `GET /api/v1/inbox?wait=55 HTTP/1.1\r\nHost: bench\r\nAuthorization: Basic ${login}\r\n\r\n`,
      );
    }
  }
  await Promise.all(Array.from({ length: connectingMax }, openInTurn));
  process.stdout.write(`${JSON.stringify({ event: "sent" })}\n`);
  process.stdin.on("end", () => process.exit(0)).resume();
}

if (process.argv[1]?.endsWith("polls.js")) await main(JSON.parse(process.argv[2] ?? "{}") as PollOptions);
