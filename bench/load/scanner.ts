interface ScannerEvents {
  acked(packetId: number): void;
  /** The CONNACK return code; 0 is accepted [MQTT-3.2.2.3]. */
  connected(code: number): void;
  subscribed?(): void;
  /** A PUBLISH, with its packet id; null at QoS 0. */
  message?(packetId: number | null): void;
}

const connack = 0x20;
const publish = 0x30;
const puback = 0x40;
const suback = 0x90;

/**
 * Walks the bytes a broker sends, packet by packet, and reports CONNACK, SUBACK, PUBLISH and PUBACK; other packets
 * are passed over whole. A chunk is only read during the call, so that one receive buffer serves every connection.
 */
export function createScanner(events: ScannerEvents): (chunk: Buffer) => void {
  let kept: Buffer | null = null;

  return (chunk) => {
    const bytes: Buffer = kept === null ? chunk : Buffer.concat([kept, chunk]);
    let at = 0;
    for (;;) {
      const end = packetEnd(bytes, at);
      if (end < 0 || end > bytes.length) break;
      const type = bytes.readUInt8(at) & 0xf0;
      if (type === puback) events.acked(bytes.readUInt16BE(at + 2));
      else if (type === publish) events.message?.(packetIDOf(bytes, at));
      else if (type === connack) events.connected(bytes.readUInt8(at + 3));
      else if (type === suback) events.subscribed?.();
      at = end;
    }
    kept = at < bytes.length ? Buffer.from(bytes.subarray(at)) : null;
  };
}

/** Takes a whole PUBLISH: the packet id comes after the topic. */
function packetIDOf(bytes: Buffer, at: number): number | null {
  if ((bytes.readUInt8(at) & 0x06) === 0) return null;
  let topicAt = at + 2;
  while (bytes.readUInt8(topicAt - 1) >= 0x80) topicAt += 1;
  return bytes.readUInt16BE(topicAt + 2 + bytes.readUInt16BE(topicAt));
}

/** Where the packet that starts at `at` ends; -1 while its length is not there yet. */
function packetEnd(bytes: Buffer, at: number): number {
  let length = 0;
  for (let i = 1; i <= 4; i++) {
    const byte = bytes[at + i];
    if (byte === undefined) return -1;
    length |= (byte & 0x7f) << (7 * (i - 1));
    if (byte < 0x80) return at + 1 + i + length;
  }
  throw new Error("cannot read the broker's answer: a packet length of more than four bytes");
}
