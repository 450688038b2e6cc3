/** As much of InfluxDB 2 as the write path needs, with the answers of a server in trouble. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface FakeInflux {
  readonly url: string;
  /** Line without its value → the value of field `n`: what a server would hold. */
  readonly stored: ReadonlyMap<string, number>;
  /** Requests so answered, by status. */
  readonly answers: ReadonlyMap<number, number>;
  /** Numbers that the server will never take: 400 names each and stores none, 422 stores the rest. */
  refuse(status: 400 | 422, isBad: (n: number) => boolean): void;
  /** Answers 503 from now on, or no more. */
  setAway(away: boolean): void;
  close(): Promise<void>;
}

const lineForm = /^(.+) n=([-\d.e+]+) (\d+)$/;

export async function startFakeInflux(): Promise<FakeInflux> {
  const stored = new Map<string, number>();
  const answers = new Map<number, number>();
  let away = false;
  let refusal: { status: 400 | 422; isBad: (n: number) => boolean } | null = null;

  function write(body: string): { status: number; message: string } {
    if (away) return { status: 503, message: "service unavailable" };
    if (body === "") return { status: 204, message: "" };
    const lines = body.split("\n").map((text) => {
      const [, series = "", value = "", time = ""] = lineForm.exec(text) ?? [];
      return { text, key: `${series} ${time}`, n: Number(value) };
    });
    const bad = lines.filter(({ n }) => refusal?.isBad(n));
    const good = lines.filter((line) => !bad.includes(line));
    if (bad.length > 0 && refusal?.status === 400) {
      const named = bad.map(({ text }) => `unable to parse '${text}': bad number`).join("\n");
      return { status: 400, message: named };
    }
    for (const { key, n } of good) stored.set(key, n);
    if (bad.length === 0) return { status: 204, message: "" };
    const measurement = bad[0]?.text.split(",")[0];
    const conflict = `input field "n" on measurement "${measurement}" is type string, already exists as type float`;
    const message = `failure writing points to database: partial write: field type conflict: ${conflict}`;
    return { status: 422, message: `${message} dropped=${bad.length}` };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const isWrite = request.url?.startsWith("/api/v2/write") === true;
    const { status, message } = isWrite
      ? write(Buffer.concat(parts).toString())
      : { status: 200, message: "" };
    answers.set(status, (answers.get(status) ?? 0) + 1);
    response.writeHead(status, {
      "content-type": "application/json",
      ...(status === 503 ? { "retry-after": "1" } : {}),
    });
    const codes: Readonly<Record<number, string>> = {
      400: "invalid",
      422: "unprocessable entity",
      503: "unavailable",
    };
    const code = codes[status];
    response.end(
      code === undefined ? (isWrite ? "" : '{"buckets":[{"id":"1"}]}') : JSON.stringify({ code, message }),
    );
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stored,
    answers,
    refuse: (status, isBad) => {
      refusal = { status, isBad };
    },
    setAway: (now) => {
      away = now;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
