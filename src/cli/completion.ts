/** Scripts that complete the program's commands in a shell; they ask for nothing while they complete. */

export const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

interface Command {
  readonly about: string;
  /** What may follow it first. */
  readonly words: readonly string[];
}

export function isShell(text: string | undefined): text is Shell {
  return shells.some((one) => one === text);
}

/** @param commands by name, in the order in which they are shown */
export function completionScript(shell: Shell, commands: Readonly<Record<string, Command>>): string {
  return scripts[shell](Object.entries(commands));
}

type Commands = readonly (readonly [name: string, command: Command])[];

const scripts: Readonly<Record<Shell, (commands: Commands) => string>> = { bash, zsh, fish };

function bash(commands: Commands): string {
  const cases = commands.map(
    ([name, { words }]) => `    ${name}) words="${[...words, "--help"].join(" ")}" ;;`,
  );
  return `# Completion of tidemark for bash: source <(tidemark completion bash)
_tidemark() {
  local words="" current="\${COMP_WORDS[COMP_CWORD]}"
  if ((COMP_CWORD == 1)); then
    words="${commands.map(([name]) => name).join(" ")}"
  else
    case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    esac
    ((COMP_CWORD == 2)) || words=""
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _tidemark tidemark
`;
}

function zsh(commands: Commands): string {
  const names = commands.map(([name, { about }]) => `    '${name}:${about.replaceAll("'", "")}'`);
  const cases = commands.map(
    ([name, { words }]) => `      ${name}) compadd -- ${[...words, "--help"].join(" ")} ;;`,
  );
  return `#compdef tidemark
# Completion of tidemark for zsh: source <(tidemark completion zsh)
_tidemark() {
  local -a commands=(
${names.join("\n")}
  )
  if ((CURRENT == 2)); then
    _describe command commands
  elif ((CURRENT == 3)); then
    case "\${words[2]}" in
${cases.join("\n")}
    esac
    _files
  else
    _files
  fi
}
compdef _tidemark tidemark
`;
}

function fish(commands: Commands): string {
  const lines = commands.flatMap(([name, { about, words }]) => [
    `complete -c tidemark -n __fish_use_subcommand -f -a ${name} -d '${about.replaceAll("'", "")}'`,
    ...[...words, "--help"].map(
      (word) => `complete -c tidemark -n '__fish_seen_subcommand_from ${name}' -a ${word}`,
    ),
  ]);
  return `# Completion of tidemark for fish: tidemark completion fish | source\n${lines.join("\n")}\n`;
}
