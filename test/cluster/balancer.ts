/** A balancer of TCP connections, as one stands in front of a cluster: each goes to the next node that takes it. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

interface Balancer {
  readonly port: number;
  close(): Promise<void>;
}

/** @param targets `host:port` of the nodes as they are now; asked at each connection */
export async function startBalancer(targets: () => readonly string[], port = 0): Promise<Balancer> {
  let turn = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client);
    client.once("close", () => sockets.delete(client));
    client.on("error", () => client.destroy());
    const nodes = targets();
    const first = turn++;
    pass(
      client,
      nodes.map((_, i) => nodes[(first + i) % nodes.length] as string),
    );
  });
  await listening(server, port);
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function pass(client: Socket, [target, ...others]: readonly string[]): void {
  if (target === undefined) return void client.destroy();
  const at = target.lastIndexOf(":");
  const node = connect({ host: target.slice(0, at), port: Number(target.slice(at + 1)) });
  const onRefused = (): void => pass(client, others);
  node.once("error", onRefused);
  node.once("connect", () => {
    node.off("error", onRefused);
    node.on("error", () => client.destroy());
    node.once("close", () => client.destroy());
    client.once("close", () => node.destroy());
    client.pipe(node).pipe(client);
  });
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
}
