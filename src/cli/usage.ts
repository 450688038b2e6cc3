import { tools } from "./tools.js";

/** The command line of the program. */

const serving = {
  usage: ["tidemark [serve]"],
  about: "Serves: HTTP, MQTT and what else the settings ask for, until SIGTERM.",
};
const asking = { usage: ["tidemark help [command]", "tidemark [command] --help"], about: "Shows this." };
const commands = { serve: serving, ...tools, help: asking };

const settings = `Settings are read from the environment (docs/configuration.md); DATA_DIR, by default ./data, says which
deployment is meant. Exit codes: 0 done, 1 failed, 2 a wrong command or setting.`;

/** Whether only help is wanted: the name of one command, or null for all. Undefined if the command is to be run. */
export function helpWanted([command, ...args]: readonly string[]): string | null | undefined {
  if (command === "--help" || command === "-h") return null;
  if (command === "help") return args[0] ?? null;
  return args.some((arg) => arg === "--help" || arg === "-h") ? command : undefined;
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
