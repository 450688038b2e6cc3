import { z } from "@hono/zod-openapi";
import type { StoredBackup } from "../backup/backup-folder.js";
import { intOrNull, stampOrNull, stampText, textOrNull } from "../http/schemas.js";
import type { Stamped } from "./context.js";

export const backupExample = {
  name: "20261121T030000Z",
  folder: "/mnt/backups/20261121T030000Z",
  state: "complete",
  beginAt: "2026-11-21 03:00:00",
  endAt: "2026-11-21 03:00:41",
  files: 31,
  bytes: 91_238_400,
  journalID: 48_213,
  version: "1.0.0",
  metadata: "file",
  points: "embedded",
  elsewhere: [],
  verifiedAt: "2026-11-21 03:02:10",
  isSound: true,
  fault: null,
} as const;

export const backupSchema = z
  .object({
    name: z.string(),
    folder: z.string().openapi({ description: "what `tidemark restore` and `tidemark verify` are given" }),
    state: z.enum(["complete", "running", "unfinished", "unreadable"]).openapi({
      description:
        "running: it is being made; unfinished: it failed or was killed, and is no backup; unreadable: its manifest is not as it was written",
    }),
    beginAt: stampText,
    endAt: stampOrNull,
    files: intOrNull,
    bytes: intOrNull.openapi({
      description: "of all its files, those that it shares with the backup before it included",
    }),
    journalID: intOrNull.openapi({
      description:
        "everything that was acknowledged up to this journal id is in it; of several shards, the highest id of theirs",
    }),
    version: textOrNull.openapi({ description: "of the Tidemark that made it" }),
    metadata: z.enum(["file", "elsewhere"]).nullable(),
    points: z.enum(["embedded", "influxdb"]).nullable(),
    elsewhere: z.array(z.string()).openapi({ description: "what is kept elsewhere, and how to back it up" }),
    verifiedAt: stampOrNull.openapi({
      description: "when every byte of it was last looked at over this API",
    }),
    isSound: z.boolean().nullable().openapi({ description: "what was found then" }),
    fault: textOrNull,
  })
  .openapi("Backup", {
    example: backupExample,
  });

/** @param isRunning whether it is being made now */
export function backupView(backup: StoredBackup, isRunning: boolean, { stamp }: Stamped) {
  const { name, folder, state, beginAt, described, verified, fault } = backup;
  return {
    name,
    folder,
    state: isRunning ? "running" : state,
    beginAt: stamp(beginAt),
    endAt: stamp(described === null ? null : Date.parse(described.createdAt)),
    files: described?.files ?? null,
    bytes: described?.bytes ?? null,
    journalID: described?.journalID ?? null,
    version: described?.version ?? null,
    metadata: described?.metadata ?? null,
    points: described?.points ?? null,
    elsewhere: described?.elsewhere ?? [],
    verifiedAt: stamp(verified?.at ?? null),
    isSound: verified === null ? null : verified.fault === null,
    fault: fault ?? verified?.fault ?? null,
  };
}
