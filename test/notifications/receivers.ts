/** The other sides of contact points, real ones on this machine: a web server, a mail server, a broker. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Hook {
  readonly url: string;
  readonly received: Received[];
  /** How it answers from now on. */
  answer: (response: ServerResponse, received: Received) => void;
  close(): Promise<void>;
}

const listening = (server: {
  listen(port: number, host: string, done: () => void): unknown;
}): Promise<void> => new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

export async function openHook(): Promise<Hook> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const one = { path: request.url ?? "", headers: request.headers, body: await readText(request) };
    received.push(one);
    hook.answer(response, one);
  });
  await listening(server);
  const hook: Hook = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer: (response) => response.writeHead(200).end("thanks"),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return hook;
}

interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
}

export async function openMailServer(options: SMTPServerOptions) {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    ...options,
    onData: async (stream, session, done) => {
      const text = await readText(stream);
      const { mailFrom, rcptTo } = session.envelope;
      mails.push({
        from: mailFrom === false ? "" : mailFrom.address,
        to: rcptTo.map(({ address }) => address),
        text,
      });
      done(null, "2.0.0 kept");
    },
  });
  server.on("error", () => undefined);
  await listening(server);
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** A server that accepts connections and calls `onSocket` with each. */
export async function openSilent(onSocket: (socket: Socket) => void) {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    onSocket(socket);
  });
  await listening(server);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
