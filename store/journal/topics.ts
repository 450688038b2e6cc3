import type { FileHandle } from "node:fs/promises";
import {
  decodeTopic,
  isIntact,
  prefixBytes,
  readTopicDistance,
  recordHeadBytes,
  recordSize,
} from "./frame.js";
import { recordBytesLimit } from "./scan.js";

/** Topics of records that do not hold their own, by the records' offsets in a buffer. */
export type Topics = ReadonlyMap<number, string>;

/** Finds the topics that records of one segment refer to. */
interface TopicFinder {
  /**
   * `buffer` holds the segment from `position` on, with whole records at the offsets. A topic is empty if the record
   * that holds it is damaged, which is reported elsewhere.
   */
  find(file: FileHandle, buffer: Buffer, position: number, offsets: readonly number[]): Promise<Topics>;
}

const none: Topics = new Map();
/** Entries of one envelope stand close together. */
const rememberedMax = 64;

export function createTopicFinder(salt: number): TopicFinder {
  /** By the file offset of the record that holds the topic. */
  const known = new Map<number, string>();

  return {
    find: async (file, buffer, position, offsets) => {
      let topics: Map<number, string> | null = null;
      for (const at of offsets) {
        const back = readTopicDistance(buffer, at);
        if (back === 0) continue;
        const holder = position + at - back;
        let topic = known.get(holder);
        if (topic === undefined) {
          topic =
            holder >= position
              ? topicIn(buffer, holder - position, buffer.length, salt)
              : await readTopic(file, holder, salt);
          if (known.size >= rememberedMax) known.clear();
          known.set(holder, topic);
        }
        topics ??= new Map();
        topics.set(at, topic);
      }
      return topics ?? none;
    },
  };
}

function topicIn(buffer: Buffer, at: number, end: number, salt: number): string {
  const size = recordSize(buffer, at, end);
  return size > 0 && isIntact(buffer, at, size, salt) ? decodeTopic(buffer, at) : "";
}

async function readTopic(file: FileHandle, at: number, salt: number): Promise<string> {
  if (at < 0) return "";
  const prefix = Buffer.alloc(prefixBytes);
  const { bytesRead: headBytes } = await file.read(prefix, 0, prefixBytes, at);
  const size = headBytes < prefixBytes ? 0 : prefixBytes + prefix.readUInt32LE(0);
  if (size < recordHeadBytes || size > recordBytesLimit) return "";
  const record = Buffer.allocUnsafe(size);
  const { bytesRead } = await file.read(record, 0, size, at);
  return topicIn(record, 0, bytesRead, salt);
}
