/** What a backup is: its files with their checksums, and what it is not. */
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "@hono/zod-openapi";

export const manifestName = "manifest.json";
/** Holds the checksum of the manifest, as `sha256sum` writes it. */
export const sumName = "manifest.sha256";

const fileSchema = z.object({
  /** Below the backup's folder, with slashes. */
  path: z.string().refine((path) => !/^\/|(?:^|\/)\.\.(?:\/|$)|\\|\0/.test(path), "leads out of the backup"),
  bytes: z.number().int(),
  sha256: z.string().length(64),
  /** Identifies the version of the original, so that the next backup can skip an unchanged file; null if unknown. */
  source: z.string().nullable(),
});

const manifestSchema = z.object({
  format: z.literal(1),
  /** The version of Tidemark that made the backup. */
  version: z.string(),
  /** ISO 8601. */
  createdAt: z.string(),
  node: z.number().int(),
  /** Everything that was acknowledged up to this journal id is in it. */
  journalID: z.number().int(),
  /** The same for each of several shards, whose ids cannot be compared; `journalID` is then the highest. */
  journalIDs: z.array(z.number().int()).optional(),
  metadata: z.enum(["file", "elsewhere"]),
  points: z.enum(["embedded", "influxdb"]),
  /** Kept elsewhere, with the words that say where and how to back it up. */
  elsewhere: z.array(z.string()),
  files: z.array(fileSchema),
});

export type Manifest = z.output<typeof manifestSchema>;
export type BackupFile = Manifest["files"][number];

const computeChecksum = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Written last: a folder without it is no backup. */
export async function writeManifest(dir: string, manifest: Manifest): Promise<void> {
  const text = `${JSON.stringify(manifest, null, 1)}\n`;
  const options = { mode: 0o600, flush: true } as const;
  await writeFile(join(dir, sumName), `${computeChecksum(text)}  ${manifestName}\n`, options);
  await writeFile(join(dir, manifestName), text, options);
}

/** @throws Error that says what is wrong with it */
export async function readManifest(dir: string): Promise<Manifest> {
  const text = await readFile(join(dir, manifestName), "utf8").catch(() => {
    throw new Error(`${dir} is no backup, or an unfinished one: it has no ${manifestName}`);
  });
  const sum = await readFile(join(dir, sumName), "utf8").catch(() => "");
  if (sum !== `${computeChecksum(text)}  ${manifestName}\n`) {
    throw new Error(`${join(dir, manifestName)} is not as it was written: its checksum differs`);
  }
  const parsed = manifestSchema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  const { format } = JSON.parse(text) as { format?: unknown };
  throw new Error(
    format === 1
      ? `${join(dir, manifestName)} cannot be read`
      : `${dir} has format ${String(format)}, of a newer Tidemark`,
  );
}
