/** HTTP as bytes: what no client library would send. */
import { connect } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Sends the bytes and reads every answer until the server closes; `more` follows once something has come back. */
export async function exchange(
  address: string,
  bytes: string | Uint8Array,
  more?: string,
): Promise<RawAnswer[]> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk) => {
    if (text === "" && more !== undefined) socket.write(more);
    text += chunk;
  });
  socket.write(bytes);
  await new Promise((resolve, reject) => socket.once("close", resolve).once("error", reject));
  return answersIn(text);
}

function answersIn(text: string): RawAnswer[] {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return [];
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = new Map(
    lines.map((line) => {
      const [name = "", ...value] = line.split(": ");
      return [name.toLowerCase(), value.join(": ")];
    }),
  );
  if (first === "HTTP/1.1 100 Continue") return answersIn(text.slice(end + 4));
  const length = Number(headers.get("content-length") ?? 0);
  const body = text.slice(end + 4, end + 4 + length);
  return [{ status: Number(first.split(" ")[1]), headers, body }, ...answersIn(text.slice(end + 4 + length))];
}
