import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What a browser costs by itself: a page of one line, whose script only writes it. */
export async function startEmptyPage(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const page =
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>empty</title><p id="seen"></p><script src="/a.js"></script></html>';
  const server = createServer((request, response) => {
    const isScript = request.url === "/a.js";
    response.setHeader("Content-Type", isScript ? "text/javascript" : "text/html; charset=utf-8");
    response.end(isScript ? 'document.getElementById("seen").textContent = "here"' : page);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
