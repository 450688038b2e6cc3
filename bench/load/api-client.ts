import { Agent, request } from "node:http";
import type { Socket } from "node:net";

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A small HTTP client over kept-alive connections: what a dashboard would cost, and little more. */
export interface Api {
  /** Text and bytes go as they are, anything else as JSON; bytes have the given type. */
  call(method: string, path: string, body?: unknown, type?: string): Promise<Answer>;
  /** The parsed answer of a call that must succeed. @throws Error with the answer's beginning. */
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: unknown): Promise<T>;
  close(): void;
}

const connectionsMax = 32;

export function createApi(base: string, headers: Record<string, string>): Api {
  const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax });
  const guarded = new WeakSet<Socket>();

  function call(method: string, path: string, body?: unknown, bytesType?: string): Promise<Answer> {
    const raw = typeof body === "string" || body instanceof Uint8Array;
    const text = raw ? body : body === undefined ? null : JSON.stringify(body);
    const sent = text === null ? {} : { "content-length": String(Buffer.byteLength(text)) };
    const named = bytesType ?? (typeof body === "object" ? "application/json" : undefined);
    const type = named === undefined ? {} : { "content-type": named };
    return new Promise((resolve, reject) => {
      const outgoing = request(
        new URL(path, base),
        { method, agent, headers: { ...type, ...sent, ...headers } },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
          incoming.on("end", () => {
            resolve({ status: incoming.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") });
          });
          incoming.on("error", reject);
        },
      );
      outgoing.on("error", reject);
      // An answer that comes before the body has gone leaves the socket to itself.
      outgoing.on("socket", (socket) => {
        if (guarded.has(socket)) return;
        guarded.add(socket);
        socket.on("error", () => undefined);
      });
      outgoing.end(text ?? undefined);
    });
  }
  async function parsed<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await call(method, path, body);
    if (answer.status >= 300) {
      throw new Error(`cannot ${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
    }
    return JSON.parse(answer.text) as T;
  }
  return {
    call,
    get: (path) => parsed("GET", path),
    post: (path, body) => parsed("POST", path, body),
    close: () => agent.destroy(),
  };
}

/** Runs `task` for 0 … count - 1, so many at a time. */
export async function inParallel(count: number, task: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  async function worker(): Promise<void> {
    while (next < count) await task(next++);
  }
  await Promise.all(Array.from({ length: Math.min(count, connectionsMax) }, worker));
}
