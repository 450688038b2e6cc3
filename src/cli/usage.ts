import { readBuildInfo } from "../host/build-info.js";
import { completionScript, isShell, shells } from "./completion.js";
import { tools } from "./tools.js";

/** The command line of the program. */

const serving = {
  usage: ["tidemark [serve]"],
  about: "Serves: HTTP, MQTT and what else the settings ask for, until SIGTERM.",
};
const versions = {
  usage: ["tidemark version"],
  about:
    "Says which version this is, of which commit, and which engine for points and which time zone rules the settings name.",
};
const completing = {
  usage: [`tidemark completion ${shells.join("|")}`],
  about: "Prints a script that completes commands in a shell.",
};
const helpUsage = { usage: ["tidemark help [command]", "tidemark [command] --help"], about: "Shows this." };
const commands = { serve: serving, ...tools, version: versions, completion: completing, help: helpUsage };

const settings = `Settings are read from the environment (docs/configuration.md); DATA_DIR, by default ./data, says which
deployment is meant. Exit codes: 0 done, 1 failed, 2 a wrong command or setting, 141 nobody reads the output any more.`;

/** Whether only help is wanted: the name of one command, or null for all. Undefined if the command is to be run. */
export function helpWanted([command, ...args]: readonly string[]): string | null | undefined {
  if (command === "--help" || command === "-h") return null;
  const isWanted = args.some((arg) => arg === "--help" || arg === "-h");
  if (command === "help" && !isWanted) return args[0] ?? null;
  return isWanted ? command : undefined;
}

/** Parts that the settings name: the engine for points, the release of the time zone rules. */
export interface PartsNamed {
  readonly engine: string;
  readonly timezones: string | null;
}

/**
 * What a command that needs no settings prints; undefined for any other.
 * @param named null where the settings cannot be read
 */
export async function printed(
  [command, shell, ...more]: readonly string[],
  named: () => PartsNamed | null,
): Promise<string | undefined> {
  if ((command === "version" || command === "--version") && shell === undefined) {
    const { version, commit } = await readBuildInfo();
    const parts = named();
    const words = [
      `tidemark ${version}${commit === null ? "" : ` (${commit.slice(0, 12)})`}`,
      parts?.engine,
      `Node ${process.versions.node}`,
      parts === null ? undefined : `time zones ${parts.timezones ?? "of an unknown version"}`,
    ];
    return `${words.filter((word) => word !== undefined).join(", ")}\n`;
  }
  if (command !== "completion" || !isShell(shell) || more.length > 0) return undefined;
  const known = Object.entries(commands).map(([name, { usage, about }]) => {
    const words = usage.flatMap((line) => /^tidemark \S+ ([a-z|]+)( |$)/.exec(line)?.[1]?.split("|") ?? []);
    return [name, { about, words }] as const;
  });
  return completionScript(shell, Object.fromEntries(known));
}

/** The help text of one command, or of all (null); undefined if there is no such command. */
export function helpOn(command: string | null): string | undefined {
  if (command === null) {
    const all = Object.values(commands).map(({ usage, about }) => `${usage.join("\n")}\n    ${about}\n`);
    return `Usage:\n\n${all.join("\n")}\n${settings}\n`;
  }
  const found = Object.entries(commands).find(([name]) => name === command)?.[1];
  return found && `Usage: ${found.usage.join("\n       ")}\n\n${found.about}\n\n${settings}\n`;
}

export function unknownCommand(command: string): string {
  return `no command ${command}; there are ${Object.keys(commands).join(", ")}`;
}
