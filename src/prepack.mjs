// node src/bootstrap.mjs src/prepack.mjs
// A step of `npm pack`, once everything is built: says which commit the package is made from, for where there is no git.
// With --after it takes that away again: a clone is of the commit that it is at.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const file = fileURLToPath(new URL("../dist/commit.txt", import.meta.url));
rmSync(file, { force: true });
if (process.argv.includes("--after")) process.exit();
try {
  const git = (...args) =>
    execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  // Sources that differ from the commit are of none.
  if (git("status", "--porcelain", "--untracked-files=no") === "")
    writeFileSync(file, git("rev-parse", "HEAD"));
} catch {
  // Made from an archive of the sources: the package names no commit.
}
