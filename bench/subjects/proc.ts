import { readFileSync } from "node:fs";

/** Kernel clock ticks a second in /proc (USER_HZ), the same on every Linux that Node runs on. */
const ticksPerSecond = 100;

/** CPU seconds a process has used so far, all its threads, user and system. */
export const cpuSeconds = (pid: number): number => secondsIn(`/proc/${pid}/stat`);

/** The same of its main thread alone. */
export const mainThreadSeconds = (pid: number): number => secondsIn(`/proc/${pid}/task/${pid}/stat`);

function secondsIn(path: string): number {
  const stat = readFileSync(path, "utf8");
  // The name in parentheses may hold spaces; utime and stime are fields 14 and 15, state being the third.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

/** Resident memory of a process in MB. */
export function rssMB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

/** Threads of a process, those of Node's pools too. */
export function threadsOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 0);
}

/** How long the main thread of a process has been ready to run and had no processor, in all. */
export function starvedMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6;
}
