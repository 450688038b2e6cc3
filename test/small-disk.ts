/** A file system of a few megabytes for tests of a disk that fills; it needs the right to mount one. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  readonly path: string;
  resize(bytes: number): void;
  /** Nothing can be written until the returned function is called. No process may have files open for writing. */
  readOnly(): () => void;
  close(): void;
}

const run = (command: string, ...args: readonly string[]) => execFileSync(command, args, { stdio: "pipe" });

/** `reason` says in one line why there is none. */
export function mountSmallDisk(bytes: number): SmallDisk | { readonly reason: string } {
  const path = mkdtempSync(join(tmpdir(), "tidemark-disk-"));
  try {
    run("mount", "-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", path);
  } catch {
    rmSync(path, { recursive: true });
    return { reason: "mounting a tmpfs is not permitted here" };
  }
  let open = true;
  const close = (): void => {
    if (!open) return;
    open = false;
    run("umount", "-l", path);
    rmSync(path, { recursive: true, force: true });
  };
  process.once("exit", close);
  const remount = (option: string): void => void run("mount", "-o", `remount,${option}`, path);
  return {
    path,
    resize: (size) => remount(`size=${size}`),
    readOnly: () => {
      remount("ro");
      return () => remount("rw");
    },
    close,
  };
}
