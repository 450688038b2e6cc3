/** A reverse proxy as nginx is set up: paths below a prefix go to the service, with the prefix or without. */
import { createServer, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect } from "node:net";

interface Proxy {
  /** http://host:port, without the prefix. */
  readonly origin: string;
  close(): Promise<void>;
}

/** @param keeps whether the service is sent the prefix (`proxy_pass http://service;`), or the rest (`…service/;`) */
export async function startProxy(service: string, prefix: string, keeps: boolean): Promise<Proxy> {
  const { hostname, port } = new URL(service);
  const pathOf = ({ url = "" }: IncomingMessage): string | null => {
    if (url !== prefix && !url.startsWith(`${prefix}/`)) return null;
    return keeps ? url : url.slice(prefix.length) || "/";
  };
  const server = createServer((from, to) => {
    const path = pathOf(from);
    if (path === null) return void to.writeHead(404).end("not below the prefix");
    const { method, headers } = from;
    const passed = request({ hostname, port, method, headers, path }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(to);
    });
    passed.on("error", () => to.destroy());
    to.on("close", () => passed.destroy());
    from.pipe(passed);
  });
  server.on("upgrade", (from: IncomingMessage, socket) => {
    const path = pathOf(from);
    if (path === null) return void socket.destroy();
    const passed = connect(Number(port), hostname, () => {
      const headers = from.rawHeaders.reduce((all, one, i) => all + one + (i % 2 === 0 ? ": " : "\r\n"), "");
      passed.write(`GET ${path} HTTP/1.1\r\n${headers}\r\n`);
      socket.pipe(passed).pipe(socket);
    });
    for (const end of [socket, passed]) end.on("error", () => end.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
