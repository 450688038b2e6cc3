import { readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { walkSegment } from "./reader.js";
import { orderSegments, readSegmentFile, type Segment } from "./segment.js";
import { segmentHeadBytes } from "./segment-head.js";
import { describeDamage } from "./walk.js";

interface JournalVerified {
  readonly segments: number;
  readonly records: number;
  readonly bytes: number;
}

/**
 * Reads every byte of a journal that may be in use, and changes nothing. `onFault` receives each part that is not as
 * it was written. What the next start repairs by itself is no fault: a commit under way after the last whole record
 * of the newest segment, a segment that has just been begun, and one that another has replaced.
 */
export async function verifyJournal(
  dir: string,
  onFault: (file: string, fault: string) => void,
): Promise<JournalVerified> {
  const verified = { segments: 0, records: 0, bytes: 0 };
  const names = (await readdir(dir)).filter((name) => name.endsWith(".journal")).sort();
  const segments: Segment[] = [];
  for (const name of names) {
    const path = join(dir, name);
    // Before it is read: a head may be written meanwhile.
    const { size } = await stat(path);
    const found = await readSegmentFile(path);
    if (found !== null) {
      if (found.isHeadDamaged) onFault(path, "its head is damaged; the file's name says what it said");
      segments.push(found.segment);
    } else if (size >= segmentHeadBytes) {
      onFault(path, "neither its head nor its name says how to read it");
    }
  }
  const { valid } = orderSegments(segments);
  for (const [i, segment] of valid.entries()) {
    const before = valid[i - 1];
    if (before !== undefined && segment.previousID !== null && segment.previousID !== before.firstID)
      onFault(segment.path, `segments between ${basename(before.path)} and this one are gone`);
    await verifySegment(segment, valid[i + 1], verified, onFault);
  }
  return verified;
}

async function verifySegment(
  segment: Segment,
  next: Segment | undefined,
  verified: { segments: number; records: number; bytes: number },
  onFault: (file: string, fault: string) => void,
): Promise<void> {
  if (segment.bytes <= segmentHeadBytes) return;
  const walk = await walkSegment(
    segment,
    next?.firstID ?? Number.POSITIVE_INFINITY,
    (damage) => onFault(segment.path, describeDamage(damage)),
    () => {
      verified.records++;
    },
  );
  // Ids that the next segment says were never given are not missing.
  if (next !== undefined) walk.end(Math.min(next.firstID - 1, next.afterID));
  verified.segments++;
  verified.bytes += segment.bytes;
}
