/** The messages between the windows of a browser and the one owner of its streams. */

export type Topic = "points" | "messages" | "presence" | "alerts" | "commands" | "overview";

/** What one part of a page wants to receive. */
export interface Want {
  readonly topics: readonly Topic[];
  /** By deviceID; null: of all devices, which is not possible for points. */
  readonly devices: readonly string[] | null;
}

/** `away`: the service does not answer. `refused`: it does, and does not give this stream now. */
export type LinkState = "on" | "away" | "refused";

/** Sent again every so often, so that a window that was closed without a word is found out. */
export interface FromWindow {
  /** The user of the session; null: none, so nothing is requested. */
  readonly user: number | null;
  /** Absent: the window is closed. */
  readonly wants?: readonly Want[];
}

export type ToWindow =
  | { readonly kind: "told"; readonly topic: Topic; readonly items: readonly Item[] }
  /** This many messages were skipped because there were too many. */
  | { readonly kind: "skipped"; readonly count: number }
  /** Something was missed that is no longer known. */
  | { readonly kind: "gap" }
  | { readonly kind: "state"; readonly state: LinkState }
  /** The streams do not cover these wants: the window must query them itself. */
  | { readonly kind: "left"; readonly wants: readonly Want[] }
  /** The session has ended. */
  | { readonly kind: "loggedOut" };

/** One item of a live event, as the API sends it. */
export interface Item {
  readonly deviceID?: string;
  readonly deviceIntID?: number;
}

export function isWanted({ topics, devices }: Want, topic: Topic, { deviceID }: Item): boolean {
  // Commands name their device by number alone: the receiver filters them itself.
  return topics.includes(topic) && (devices === null || deviceID === undefined || devices.includes(deviceID));
}
