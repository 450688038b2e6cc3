import { readFile, writeFile } from "node:fs/promises";
import { asError } from "../../store/errors.js";
import { type DynamicSecurity, mergeInto } from "./mosquitto.js";

/** What a file has got. */
export interface WrittenConfig {
  readonly file: string;
  readonly clients: number;
  readonly roles: number;
}

/**
 * Writes the plugin's file. One that is there keeps its owner and its mode, and what others have put into it; a new
 * one is for its owner alone.
 */
export async function writeMosquittoConfig(file: string, ours: DynamicSecurity): Promise<WrittenConfig> {
  const there = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  const whole = there === null || there.trim() === "" ? ours : mergeInto(parse(file, there), ours);
  await writeFile(file, `${JSON.stringify(whole, null, 2)}\n`, { mode: 0o600 });
  return { file, clients: whole.clients.length, roles: whole.roles.length };
}

function parse(file: string, text: string): DynamicSecurity {
  try {
    return JSON.parse(text) as DynamicSecurity;
  } catch (error) {
    throw new Error(
      `cannot write ${file}: what is there is not the plugin's file: ${asError(error).message}`,
    );
  }
}
