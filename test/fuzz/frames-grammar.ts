/** MQTT in frames of WebSocket: fragments, control frames between them, lengths in each of their three forms. */
import type { Random } from "./random.js";
import { bytesOf, type Group, type Part, sequence } from "./tree.js";

export const upgrade = Buffer.from(
  [
    ...[
      "GET /mqtt HTTP/1.1",
      "Host: x",
      "Upgrade: websocket",
      "Connection: Upgrade",
      "Sec-WebSocket-Version: 13",
    ],
    ...["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol: mqtt", "", ""],
  ].join("\r\n"),
);

const opcodes = { continuation: 0, binary: 2, close: 8, ping: 9, pong: 10 } as const;

function frame(first: number, payload: Part, random: Random): Group {
  const mask = Buffer.from([1, 2, 3, 4].map(() => random.below(256)));
  return {
    parts: [payload],
    join: (parts) => {
      const bytes = Buffer.concat(parts);
      const masked = Buffer.from(bytes.map((byte, i) => byte ^ (mask[i % 4] as number)));
      return Buffer.concat([Buffer.of(first), lengthOf(bytes.length), mask, masked]);
    },
  };
}

function lengthOf(length: number): Buffer {
  if (length < 126) return Buffer.of(0x80 | length);
  if (length < 65_536) return Buffer.of(0x80 | 126, length >> 8, length & 0xff);
  const bytes = Buffer.alloc(9);
  bytes[0] = 0x80 | 127;
  bytes.writeBigUInt64BE(BigInt(length), 1);
  return bytes;
}

/** The bytes of a conversation in some messages, each in some fragments. */
export function framed(conversation: Part, random: Random): Group {
  const bytes = bytesOf(conversation);
  const frames: Part[] = [];
  for (let at = 0; at < bytes.length; ) {
    const count = 1 + random.below(3);
    for (let i = 0; i < count; i++) {
      const length = random.once(3) ? random.below(20) : bytes.length;
      const final = i === count - 1 ? 0x80 : 0;
      const opcode = i === 0 ? opcodes.binary : opcodes.continuation;
      frames.push(frame(final | opcode, sequence(bytes.subarray(at, at + length)), random));
      at += length;
      if (random.once(6))
        frames.push(frame(0x80 | random.pick([opcodes.ping, opcodes.pong]), sequence("hi"), random));
    }
  }
  if (random.once(3)) frames.push(frame(0x80 | opcodes.close, sequence(Buffer.of(3, 232), "bye"), random));
  return sequence(...frames);
}
