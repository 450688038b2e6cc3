import { type ChildProcess, spawn } from "node:child_process";

/**
 * Runs a shell script once this process has died, by abort and SIGKILL too: the shell waits for the end of a pipe that
 * we hold. Ctrl-C and signals to our process group do not reach it. The returned function cancels it.
 */
export function atDeath(script: string, ...words: readonly string[]): () => void {
  const guard = spawn("/bin/sh", ["-c", `trap "" INT TERM HUP; read _; ${script}`, "guard", ...words], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  guard.on("error", () => {});
  guard.stdin?.on("error", () => {});
  guard.unref();
  if (guard.stdin && "unref" in guard.stdin) (guard.stdin as unknown as { unref(): void }).unref();
  return () => guard.kill("SIGKILL");
}

/** Ends a server and removes its folder however this process dies. */
export function guardServer(child: ChildProcess, pid: number, dir: string): void {
  child.once("exit", atDeath('kill -9 "$1"; rm -rf "$2"', String(pid), dir));
}
