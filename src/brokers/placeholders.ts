/**
 * What brokers put a client's own names in for, in the topics of their rules: `%c` and `%u` (Mosquitto, VerneMQ, which
 * has `%m` too), `${clientid}` and `${{clientid}}` (EMQX, HiveMQ). A device of such a name would be every device. Any
 * letter behind `%`, and any `${`, for brokers learn new ones: Mosquitto's plugin did with 2.1.
 */
const placeholder = /%[a-z]|\$\{/i;

/** Whether a broker may read something into a name, or a level of a topic, other than what it says. */
export function hasPlaceholder(text: string): boolean {
  return placeholder.test(text);
}

/** The filter with a wildcard for each level that a broker would not take as it is. */
export function withoutPlaceholders(filter: string): string {
  return filter
    .split("/")
    .map((level) => (hasPlaceholder(level) ? "+" : level))
    .join("/");
}

/** What no rule of a broker can say. */
export interface Unwritten {
  /** They stay out: a name of theirs has a placeholder in it. */
  readonly devices: readonly { readonly deviceID: string; readonly deviceUsername: string }[];
  /** Their permissions are left out; their denials cover the whole level. */
  readonly policies: readonly { readonly id: number; readonly topic: string }[];
}
