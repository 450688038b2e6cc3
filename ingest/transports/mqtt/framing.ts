/**
 * Watches the fixed headers (MQTT 3.1.1 §2.2) of a byte stream, so that a packet's declared size is refused as
 * soon as it is read, before any of it is collected. It keeps numbers only, never bytes.
 */
export interface FrameWatch {
  /** False when a packet larger than `bytesMax`, or a malformed length, has begun. */
  inspect(chunk: Uint8Array, bytesMax: number): boolean;
}

export function createFrameWatch(): FrameWatch {
  /** Bytes of the packet at hand still to come; 0 = the next byte begins a packet. */
  let left = 0;
  let length = 0;
  let shift = -1;

  return {
    inspect: (chunk, bytesMax) => {
      for (let at = 0; at < chunk.length; ) {
        if (left > 0) {
          const taken = Math.min(left, chunk.length - at);
          left -= taken;
          at += taken;
        } else if (shift < 0) {
          shift = 0;
          length = 0;
          at++;
        } else {
          const byte = chunk[at++] as number;
          length += (byte & 0x7f) * 2 ** shift;
          shift += 7;
          const last = (byte & 0x80) === 0;
          // The remaining length has at most four bytes.
          if (length > bytesMax || (!last && shift > 21)) return false;
          if (last) {
            left = length;
            shift = -1;
          }
        }
      }
      return true;
    },
  };
}
