import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of package.json: compiled tests stand below a folder of its own. */
export function repositoryRoot(): string {
  for (let dir = dirname(fileURLToPath(import.meta.url)); ; dir = dirname(dir)) {
    const names = readdirSync(dir);
    if (names.includes("package.json") && names.includes("src")) return dir;
    if (dir === dirname(dir)) throw new Error("cannot find the repository");
  }
}
