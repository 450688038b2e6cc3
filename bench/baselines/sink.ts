/** The cheapest possible broker: it accepts anyone and acknowledges every PUBLISH, which is the generator's ceiling. */
import { createServer, type Socket } from "node:net";

const connack = Buffer.from([0x20, 2, 0, 0]);

const server = createServer({ noDelay: true }, serve);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ event: "listening", port })}\n`);
});
process.stdin.on("end", () => process.exit(0)).resume();

function serve(socket: Socket): void {
  let kept: Buffer | null = null;
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk: Buffer) => {
    const bytes: Buffer = kept === null ? chunk : Buffer.concat([kept, chunk]);
    const answers = Buffer.allocUnsafe(bytes.length);
    let written = 0;
    let at = 0;
    for (;;) {
      const lengthBytes = (bytes[at + 1] ?? 0) < 0x80 ? 1 : 2;
      const low = (bytes[at + 1] ?? 0) & 0x7f;
      const end = at + 1 + lengthBytes + low + (lengthBytes === 2 ? (bytes[at + 2] ?? 0) << 7 : 0);
      if (bytes.length - at < 3 || end > bytes.length) break;
      const type = (bytes[at] ?? 0) >> 4;
      if (type === 1) written += connack.copy(answers, written);
      if (type === 3) written += acknowledge(bytes, at + 1 + lengthBytes, answers, written);
      at = end;
    }
    kept = at < bytes.length ? bytes.subarray(at) : null;
    if (written > 0) socket.write(answers.subarray(0, written));
  });
}

function acknowledge(bytes: Buffer, topicAt: number, answers: Buffer, written: number): number {
  const idAt = topicAt + 2 + bytes.readUInt16BE(topicAt);
  answers[written] = 0x40;
  answers[written + 1] = 2;
  bytes.copy(answers, written + 2, idAt, idAt + 2);
  return 4;
}
