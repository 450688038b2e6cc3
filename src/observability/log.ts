/** One JSON line for each event, on standard output. */
export interface Logger {
  debug(msg: string, fields?: Readonly<Record<string, unknown>>): void;
  info(msg: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(msg: string, fields?: Readonly<Record<string, unknown>>): void;
  error(msg: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Lines that nobody could take; absent where none is dropped. */
  readonly dropped?: number;
}

const levels = ["debug", "info", "warn", "error"] as const;
type Level = (typeof levels)[number];

export function createLogger(
  lowest: Level,
  write: (line: string) => void,
  now: () => number,
  dropped: () => number = () => 0,
): Logger {
  const from = levels.indexOf(lowest);
  const at =
    (level: Level) =>
    (msg: string, fields: Readonly<Record<string, unknown>> = {}): void => {
      if (levels.indexOf(level) < from) return;
      write(`${JSON.stringify({ time: new Date(now()).toISOString(), level, msg, ...fields }, plain)}\n`);
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    get dropped() {
      return dropped();
    },
  };
}

/** Writes errors out, because JSON would leave them empty. */
function plain(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { cause } = value;
  return { error: value.message, stack: value.stack, ...(cause === undefined ? {} : { cause }) };
}
