/** The backups that the service makes of itself, as the API returns them. */
import { ApiFailure, call } from "../api.js";
import { language, t } from "../i18n.js";
import { shownHeaders } from "../shown.js";

export interface Backup {
  readonly name: string;
  readonly folder: string;
  readonly state: "complete" | "running" | "unfinished" | "unreadable";
  readonly beginAt: number;
  readonly endAt: number | null;
  readonly files: number | null;
  readonly bytes: number | null;
  readonly journalID: number | null;
  readonly version: string | null;
  readonly metadata: "file" | "elsewhere" | null;
  readonly points: "embedded" | "influxdb" | null;
  readonly elsewhere: readonly string[];
  readonly verifiedAt: number | null;
  readonly isSound: boolean | null;
  readonly fault: string | null;
}

export interface BackupList {
  readonly folder: string;
  readonly keep: number | null;
  readonly schedule: string | null;
  readonly nextAt: number | null;
  readonly running: {
    readonly kind: "backup" | "backup_verify";
    readonly name: string;
    readonly statusUrl: string | null;
  } | null;
  readonly failure: { readonly at: number; readonly reason: string } | null;
  readonly items: readonly Backup[];
  readonly next: string | null;
}

interface Begun {
  readonly statusUrl: string;
}

export const listBackups = (before: string | undefined, signal: AbortSignal): Promise<BackupList> =>
  call("GET", "/backups", { query: { before }, headers: shownHeaders(), signal });

export const beginBackup = (): Promise<Begun> => call("POST", "/backups");

export const verifyBackup = ({ name }: Backup): Promise<Begun> =>
  call("POST", `/backups/${encodeURIComponent(name)}/verify`);

/** One that somebody else has removed is as good as removed. */
export async function removeBackup({ name }: Backup): Promise<void> {
  try {
    await call("DELETE", `/backups/${encodeURIComponent(name)}`);
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== 404) throw error;
  }
}

/** As a shell takes it. */
export const restoreCommand = ({ folder }: Backup): string =>
  `DATA_DIR=/srv/restored tidemark restore ${/^[\w./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", `'\\''`)}'`}`;

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** `3 hours ago`: by the largest unit that fits. */
export function agoText(at: number): string {
  const ago = Date.now() - at;
  const fitting = units.find(([, size]) => ago >= size);
  if (fitting === undefined) return t("backup.now");
  const [unit, ms] = fitting;
  return new Intl.RelativeTimeFormat(language.value).format(-Math.floor(ago / ms), unit);
}

const steps = ["B", "kB", "MB", "GB", "TB"] as const;

/** `91.2 MB` */
export function bytesText(bytes: number): string {
  const step = Math.min(steps.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1000 ** step;
  return `${step === 0 ? value : value.toPrecision(3)} ${steps[step]}`;
}
