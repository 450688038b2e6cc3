import { readFile } from "node:fs/promises";
import { ConfigError } from "./config.js";

/** The text of a file that a setting names. @throws ConfigError naming both */
export async function readSetting(setting: string, path: string): Promise<string> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError([`${setting}: cannot read ${path}: ${error.code ?? error.message}`]);
  });
}

/** The parsed content of such a file. @throws ConfigError if `parse` throws */
export function parsed<T>(setting: string, path: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw new ConfigError([`${setting}: ${path} does not hold ${what}`]);
  }
}
