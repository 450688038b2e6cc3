import { readFileSync } from "node:fs";

/** How many connections of each kind the process's limit of open files allows. */
interface ConnectionLimits {
  readonly http: number;
  readonly mqtt: number;
}

/** Descriptors for the stores, the listeners, the logs and the start itself; if the limit is small, a quarter of it. */
const ownFiles = 256;

/**
 * Divides the descriptors so that connections can never take those of the stores, nor HTTP those of devices: HTTP gets
 * at most a quarter of those that the process does not keep for itself.
 * @param openFilesMax null if unknown or unlimited
 * @param most the numbers that the settings allow
 * @param descriptorsEach those of one connection: in a cluster it may need a link to its owner, and as many come in
 */
export function connectionLimits(
  openFilesMax: number | null,
  most: ConnectionLimits,
  descriptorsEach = 1,
): ConnectionLimits {
  if (openFilesMax === null) return most;
  const free = openFilesMax - Math.min(ownFiles, Math.ceil(openFilesMax / 4));
  const left = Math.floor(free / descriptorsEach);
  const http = Math.max(1, Math.min(most.http, Math.floor(left / 4)));
  return { http, mqtt: Math.max(1, Math.min(most.mqtt, left - http)) };
}

/** This process's limit of open files; null if the system does not show one, or has none. */
export function openFilesMax(): number | null {
  try {
    return limitIn(readFileSync("/proc/self/limits", "latin1"));
  } catch {
    return null;
  }
}

/** The soft limit in the text of proc_pid_limits(5). */
export function limitIn(limits: string): number | null {
  const [, soft] = /^Max open files +(\d+) /m.exec(limits) ?? [];
  return soft === undefined ? null : Number(soft);
}
