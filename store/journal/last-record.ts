import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { walkSegment } from "./reader.js";
import { readSegmentFile, type Segment } from "./segment.js";
import { segmentHeadBytes } from "./segment-head.js";

/** The id of the last whole record of a journal that nobody writes to; 0 if it has none. */
export async function lastRecordID(dir: string): Promise<number> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith(".journal")).sort();
  for (const name of names.reverse()) {
    const found = await readSegmentFile(join(dir, name));
    if (found === null) continue;
    const id = await readLastID(found.segment);
    if (id > 0) return id;
  }
  return 0;
}

async function readLastID(segment: Segment): Promise<number> {
  if (segment.bytes <= segmentHeadBytes) return segment.afterID;
  const walk = await walkSegment(
    segment,
    Number.POSITIVE_INFINITY,
    () => undefined,
    () => undefined,
  );
  return walk.lastID;
}
