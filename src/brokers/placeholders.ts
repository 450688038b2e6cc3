/**
 * Placeholders that brokers replace by a client's own names in the topics of their rules: `%c` and `%u`
 * (Mosquitto, VerneMQ, which has `%m` too), `${clientid}` and `${{clientid}}` (EMQX, HiveMQ). A device with
 * such a name would stand for every device. We take any letter after `%`, and any `${`, as a placeholder
 * because brokers gain new ones, as Mosquitto's plugin did with 2.1.
 */
const placeholder = /%[a-z]|\$\{/i;

/** Whether a broker may read a name, or a level of a topic, as something other than what it says. */
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

/** Devices and policies that no rule of a broker can express. */
export interface Unwritten {
  /** Left out because one of their names contains a placeholder. */
  readonly devices: readonly { readonly deviceID: string; readonly deviceUsername: string }[];
  /** Their permissions are left out; their denials cover the whole level. */
  readonly policies: readonly { readonly id: number; readonly topic: string }[];
}
