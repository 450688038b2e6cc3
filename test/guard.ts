import { type ChildProcess, spawn } from "node:child_process";

/**
 * Ends a server and removes its folder however this process dies, abort and SIGKILL included: a shell waits
 * for the end of a pipe that we hold, out of reach of Ctrl-C.
 */
export function guardServer(child: ChildProcess, pid: number, dir: string): void {
  const script = 'trap "" INT TERM HUP; read _; kill -9 "$1"; rm -rf "$2"';
  const guard = spawn("/bin/sh", ["-c", script, "guard", String(pid), dir], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.on("error", () => {});
  guard.stdin?.on("error", () => {});
  guard.unref();
  if (guard.stdin && "unref" in guard.stdin) (guard.stdin as unknown as { unref(): void }).unref();
  child.once("exit", () => guard.kill("SIGKILL"));
}
