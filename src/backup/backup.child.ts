/** Makes or verifies one backup in a process of its own, for the service that has asked for it. */
import { constants, setPriority } from "node:os";
import { relative } from "node:path";
import { createThrottle, type Throttle } from "../../store/files/copy-file.js";
import { systemClock } from "../../store/lib/clock.js";
import { asError } from "../../store/lib/errors.js";
import { type BackupMade, type BackupSource, makeBackup, measureFolder } from "./backup.js";
import { newestSoundBackup } from "./backup-folder.js";
import { failureText } from "./failure-text.js";
import { readManifest } from "./manifest.js";
import { verifyFolder } from "./verify-folder.js";

/** What the process is to do. */
export type BackupWork =
  | { readonly kind: "make"; readonly source: BackupSource; readonly dir: string; readonly to: string }
  | { readonly kind: "verify"; readonly folder: string };

/** What a look at every byte of a backup has found. */
interface Verified {
  readonly files: number;
  readonly bytes: number;
  readonly faults: number;
  /** The first fault, with its file below the backup's folder; null if there is none. */
  readonly firstFault: string | null;
}

/** To the service. */
export type FromChild =
  | { readonly kind: "hold"; readonly isWanted: boolean }
  /** 0 to 100. */
  | { readonly kind: "progress"; readonly reached: number }
  | { readonly kind: "made"; readonly made: BackupMade }
  | { readonly kind: "verified"; readonly verified: Verified }
  | { readonly kind: "failed"; readonly reason: string };

/** From the service: the work first, then an answer to each `hold`. */
export type ToChild =
  | { readonly kind: "work"; readonly work: BackupWork }
  /** Null: the service could not hold its files. */
  | { readonly kind: "held"; readonly journalIDs: readonly number[] | null };

const bytesPerSecond = 50 * 10 ** 6;
/** Bytes are copied, and then read again for their checksums. */
const passesOfMake = 2;
/** The percentage of a verification that compares checksums; the rest reads the contents. */
const shareOfChecksums = 80;

const send = (message: FromChild): void => void process.send?.(message);

let onHeld: ((journalIDs: readonly number[] | null) => void) | null = null;

process.on("message", (message: ToChild) => {
  if (message.kind === "held") onHeld?.(message.journalIDs);
  else void run(message.work);
});
// The service is gone, and what it holds in place with it.
process.once("disconnect", () => process.exit());
// The service decides on a signal to the whole process group, and ends this process too.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
setPriority(constants.priority.PRIORITY_LOW);

async function run(work: BackupWork): Promise<void> {
  try {
    if (work.kind === "make") end({ kind: "made", made: await make(work) });
    else end({ kind: "verified", verified: await verify(work.folder) });
  } catch (error) {
    end({ kind: "failed", reason: failureText(asError(error)) });
  }
}

/** The last message must be on its way before the channel is closed. */
function end(message: FromChild): void {
  process.send?.(message, undefined, undefined, () => process.disconnect?.());
}

async function make({ source, dir, to }: Extract<BackupWork, { kind: "make" }>): Promise<BackupMade> {
  const bytes = (await measureFolder(source.dataDir)) * passesOfMake;
  return makeBackup({
    config: source,
    to,
    previous: await newestSoundBackup(dir),
    throttle: counted(bytes, 100),
    now: systemClock.now,
    service: {
      keep: async () => {
        const journalIDs = await held(true);
        if (journalIDs === null) throw new Error("the service cannot keep its files in place now");
        return journalIDs;
      },
      release: async () => void (await held(false)),
    },
  });
}

function held(isWanted: boolean): Promise<readonly number[] | null> {
  return new Promise((resolve) => {
    onHeld = resolve;
    send({ kind: "hold", isWanted });
  });
}

async function verify(folder: string): Promise<Verified> {
  const { files } = await readManifest(folder);
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const { findings } = await verifyFolder(folder, true, counted(bytes, shareOfChecksums));
  const [first] = findings;
  return {
    files: files.length,
    bytes,
    faults: findings.length,
    firstFault: first === undefined ? null : `${relative(folder, first.file)}: ${first.fault}`,
  };
}

/** Slows down, and reports each further percent. */
function counted(bytesInAll: number, share: number): Throttle {
  const throttle = createThrottle(bytesPerSecond);
  let passed = 0;
  let reportedAt = 0;
  return async (bytes) => {
    passed += bytes;
    const reached = Math.min(share - 1, Math.floor((share * passed) / Math.max(1, bytesInAll)));
    if (reached > reportedAt) send({ kind: "progress", reached });
    reportedAt = Math.max(reportedAt, reached);
    await throttle(bytes);
  };
}
