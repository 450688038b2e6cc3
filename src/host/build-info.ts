import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "./version.js";

/** What this program is. */
export interface BuildInfo {
  /** The version of the release. */
  readonly version: string;
  /** The git commit of the sources: the one that the package was built from, or the one checked out. */
  readonly commit: string | null;
}

/** Reads what a package says of itself, else the clone's HEAD; a commit that cannot be found is null. */
export async function readBuildInfo(): Promise<BuildInfo> {
  const root = await packageRoot(dirname(fileURLToPath(import.meta.url)));
  const commit =
    root === null ? null : ((await packedCommit(root)) ?? (await checkedOut(join(root, ".git"))));
  return { version, commit };
}

/** The folder of package.json, above the built file. */
async function packageRoot(folder: string): Promise<string | null> {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    if ((await readText(join(at, "package.json"))) !== null) return at;
  }
  return null;
}

async function packedCommit(root: string): Promise<string | null> {
  const text = await readText(join(root, "dist/commit.txt"));
  return text === null ? null : commitIn(text);
}

/** By the files of git (gitrepository-layout): the program may run where git is not installed. */
async function checkedOut(git: string): Promise<string | null> {
  const head = await readText(join(git, "HEAD"));
  const ref = head === null ? null : /^ref: (\S+)/.exec(head)?.[1];
  if (head === null || ref === undefined || ref === null) return head === null ? null : commitIn(head);
  const loose = await readText(join(git, ref));
  if (loose !== null) return commitIn(loose);
  const packed = (await readText(join(git, "packed-refs"))) ?? "";
  return commitIn(packed.split("\n").find((line) => line.endsWith(` ${ref}`)) ?? "");
}

function commitIn(text: string): string | null {
  return /^[0-9a-f]{40}/.exec(text)?.[0] ?? null;
}

async function readText(path: string): Promise<string | null> {
  return readFile(path, "utf8").catch(() => null);
}
