import { type FileHandle, open } from "node:fs/promises";
import { FormatError } from "../format-error.js";
import { detectEncoding } from "../text-encoding.js";

/** A text file as UTF-8, whichever encoding it has; offsets are those of its UTF-8. */
export interface TextSource {
  /** Up to `length` bytes from `position` on, to `buffer` at `offset`; 0 at the end. @throws FormatError */
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<number>;
  close(): Promise<void>;
}

const chunkBytes = 64 * 1024;

export async function openText(path: string): Promise<TextSource> {
  const handle = await open(path, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    const encoding = detectEncoding(buffer.subarray(0, bytesRead));
    return {
      read:
        encoding === "utf-8"
          ? async (...where) => (await handle.read(...where)).bytesRead
          : converted(handle, encoding),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Converts as it is read; what lies before the last read is converted again from the beginning. */
function converted(handle: FileHandle, encoding: "utf-16le" | "utf-16be"): TextSource["read"] {
  const raw = Buffer.alloc(chunkBytes);
  let decoder = new TextDecoder(encoding, { fatal: true });
  let rawAt = 0;
  /** Converted bytes, and the offset of the first. */
  let ready: Uint8Array = new Uint8Array();
  let readyAt = 0;

  /** False at the end. */
  async function convertNext(): Promise<boolean> {
    const { bytesRead } = await handle.read(raw, 0, raw.length, rawAt);
    readyAt += ready.length;
    rawAt += bytesRead;
    try {
      ready = Buffer.from(decoder.decode(raw.subarray(0, bytesRead), { stream: bytesRead > 0 }));
    } catch (error) {
      throw new FormatError(`the file is not UTF-16 before byte ${rawAt}`, { cause: error });
    }
    return bytesRead > 0;
  }

  return async (buffer, offset, length, position) => {
    if (position < readyAt) {
      decoder = new TextDecoder(encoding, { fatal: true });
      [rawAt, readyAt, ready] = [0, 0, new Uint8Array()];
    }
    while (position >= readyAt + ready.length) {
      if (!(await convertNext())) break;
    }
    const found = ready.subarray(position - readyAt, position - readyAt + length);
    buffer.set(found, offset);
    return found.length;
  };
}
