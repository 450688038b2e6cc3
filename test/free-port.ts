import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/**
 * A port that nobody listens on now, below those that systems give to outgoing connections: one of those could take it
 * before it is used, or during a restart.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(18_000, 32_000);
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer();
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
}
