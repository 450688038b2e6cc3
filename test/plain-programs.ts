/** What a plain test file finds of the machine: Node and the shell's own programs, so that none needs a tool unnoticed. */
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** Debian's essential packages and Node bring them. */
const programs = ["node", "npm", "npx", "sh", "bash", "env", "cat", "cp", "gzip", "mkfifo", "sed", "tar"];

/** Links them into `folder`; returns the environment in which nothing else is found. */
export function linkPlainPrograms(folder: string): NodeJS.ProcessEnv {
  mkdirSync(folder);
  const folders = [dirname(process.execPath), ...(process.env.PATH ?? "").split(delimiter)];
  for (const name of programs) {
    const found = folders.map((one) => join(one, name)).find((path) => existsSync(path));
    if (found !== undefined) symlinkSync(found, join(folder, name));
  }
  const missing = "a plain test file needs only Node";
  return {
    PATH: folder,
    PYTHON_WITH_PEERS: join(folder, "no-python"),
    CHROMIUM: "",
    INFLUX_URL: "",
    TIDEMARK_TEST_INFLUXD: "",
    TIDEMARK_TEST_INFLUXD_MISSING: missing,
    TIDEMARK_TEST_KAFKA: "",
    TIDEMARK_TEST_KAFKA_MISSING: missing,
  };
}
