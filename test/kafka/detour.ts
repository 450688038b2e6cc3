/** The way of one client to brokers that have a detour (`startBrokers`): open, or cut as a network is. */
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Brokers } from "./brokers.js";

export interface Way {
  /** At which the client finds the brokers. */
  readonly addresses: readonly string[];
  /** From now on nothing comes through, without an error at either side. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

export async function openWay({ nodes }: Brokers): Promise<Way> {
  let isCut = false;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.once("close", () => sockets.delete(socket));
  };
  const servers = await Promise.all(
    nodes.map(({ detour }) =>
      listen(detour.advertised, (client) => {
        keep(client);
        if (isCut) return;
        const broker = connect(detour.listens, "127.0.0.1");
        keep(broker);
        client.once("close", () => broker.destroy());
        broker.once("close", () => client.destroy());
        client.pipe(broker).pipe(client);
      }),
    ),
  );
  const endAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    addresses: nodes.map(({ detour }) => `127.0.0.1:${detour.advertised}`),
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.unpipe();
    },
    // What was cut has lost bytes: it breaks off now.
    mend: () => {
      isCut = false;
      endAll();
    },
    close: async () => {
      const closed = servers.map((server) => new Promise((resolve) => server.close(resolve)));
      endAll();
      await Promise.all(closed);
    },
  };
}

function listen(port: number, take: (client: Socket) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(take).once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
