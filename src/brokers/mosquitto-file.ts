import { chmod, chown, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { asError } from "../../store/lib/errors.js";
import {
  type DynamicClient,
  type DynamicSecurity,
  isOwnClient,
  isTidemark,
  type Prepared,
  without,
} from "./mosquitto.js";
import type { Unwritten } from "./placeholders.js";

/** The contents that were written to a file. */
interface WrittenConfig {
  readonly file: string;
  readonly clients: number;
  readonly roles: number;
  /** User names of devices that cannot connect because somebody else already has the name. */
  readonly leftOut: readonly string[];
  readonly unwritten: Unwritten;
}

/**
 * Writes the plugin's file, whole or not at all. An existing file keeps its owner, its mode, and what others
 * have put into it; a new file is readable by its owner alone.
 */
export async function writeMosquittoConfig(file: string, ours: Prepared): Promise<WrittenConfig> {
  const there = await readFile(file, "utf8").catch(unlessMissing);
  const whole = there === null || there.trim() === "" ? ours : mergeInto(parse(file, there), ours);
  const { config, leftOut, unwritten } = whole;
  await replace(file, `${JSON.stringify(config, null, 2)}\n`);
  return { file, clients: config.clients.length, roles: config.roles.length, leftOut, unwritten };
}

/**
 * An existing file keeps its clients, groups, roles and defaults. Devices choose their user names: a device
 * whose name belongs to another client, or is in a group, would get rights that were never meant for it.
 */
export function mergeInto(there: DynamicSecurity, { config, leftOut, unwritten }: Prepared): Prepared {
  const tidemark = config.clients.filter(isTidemark);
  const own = new Set(tidemark.map(({ username }) => username));
  const others = (there.clients ?? []).filter((one) => !own.has(one.username) && !isDevice(one));
  const members = (there.groups ?? []).flatMap(({ clients = [] }) => clients);
  const devices = without(
    new Set([...others, ...members].map(({ username }) => username)),
    config.clients.filter((client) => !isTidemark(client)),
  );
  return {
    config: {
      ...config,
      ...there,
      clients: [...others, ...devices.clients, ...tidemark],
      groups: there.groups ?? [],
      roles: [...(there.roles ?? []).filter((role) => !isOwnClient(role)), ...config.roles],
    },
    leftOut: [...leftOut, ...devices.leftOut],
    unwritten,
  };
}

/** Written by an earlier run. A client that somebody else has given a role as well is theirs. */
const isDevice = ({ roles = [] }: Partial<DynamicClient>): boolean =>
  roles.length > 0 && roles.every(isOwnClient);

/** Through a second file: the broker does not start with half a file. */
async function replace(named: string, text: string): Promise<void> {
  const file = (await realpath(named).catch(unlessMissing)) ?? named;
  const before = await stat(file).catch(unlessMissing);
  const made = `${file}.new`;
  await rm(made, { force: true });
  const handle = await open(made, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (before !== null) {
    await chown(made, before.uid, before.gid);
    await chmod(made, before.mode & 0o7777);
  }
  await rename(made, file);
}

function unlessMissing(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT") return null;
  throw error;
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
