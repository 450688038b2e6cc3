/** The time that retention trusted last, kept in the data folder from run to run. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "./replace-file.js";

const trustedTimePath = (dataDir: string): string => join(dataDir, "retention-time.json");

/** Milliseconds since 1970; null where the file is missing or says nothing: it is then found anew. */
export async function readTrustedTime(dataDir: string): Promise<number | null> {
  const text = await readFile(trustedTimePath(dataDir), "utf8").catch(() => "");
  try {
    const { trustedTime } = JSON.parse(text) as { trustedTime?: unknown };
    const ms = typeof trustedTime === "string" ? Date.parse(trustedTime) : Number.NaN;
    return Number.isFinite(ms) ? ms : null;
  } catch {
    return null;
  }
}

export function saveTrustedTime(dataDir: string, ms: number): Promise<void> {
  return replaceFile(
    trustedTimePath(dataDir),
    `${JSON.stringify({ trustedTime: new Date(ms).toISOString() })}\n`,
  );
}
