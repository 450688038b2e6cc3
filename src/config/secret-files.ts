import { readFileSync } from "node:fs";

/** Settings that are secrets, or addresses that may hold one: each may come from the file that `<NAME>_FILE` names. */
export const secretSettings = [
  ...(["API_KEY", "ADMIN_PASSWORD", "MASTER_KEY", "LIBSQL_URL", "LIBSQL_AUTH_TOKEN", "INFLUX_URL"] as const),
  ...(["INFLUX_TOKEN", "BROKER_PASSWORD", "JOURNAL_URL", "SMTP_URL", "MAP_TILES_URL"] as const),
] as const;

type Environment = Readonly<Record<string, string | undefined>>;

interface WithSecrets {
  readonly environment: Environment;
  /** Names of the settings whose values are from files. */
  readonly fromFiles: ReadonlySet<string>;
  /** Faults, one a line, without the contents of the files. */
  readonly problems: readonly string[];
}

/** Reads the files that the environment names in the place of secrets; a newline at the end is not part of one. */
export function readSecretFiles(environment: Environment): WithSecrets {
  const found: Record<string, string> = {};
  const problems: string[] = [];
  for (const name of secretSettings) {
    const file = `${name}_FILE`;
    const path = environment[file];
    if (path === undefined) continue;
    if (environment[name] !== undefined) {
      problems.push(`${name}, ${file}: are not set together`);
      continue;
    }
    try {
      const value = readFileSync(path, "utf8").replace(/\r?\n$/, "");
      if (value === "") problems.push(`${file}: ${path} is empty`);
      else found[name] = value;
    } catch (error) {
      problems.push(
        `${file}: cannot read ${path}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`,
      );
    }
  }
  return { environment: { ...environment, ...found }, fromFiles: new Set(Object.keys(found)), problems };
}
