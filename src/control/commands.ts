import type { Sessions } from "../../ingest/sessions/live.js";
import type { Actor } from "../../store/changes.js";
import type { CommandTarget } from "../../store/command-targets.js";
import { createControlLog, publishStatuses } from "../../store/control-logs.js";
import type { Db } from "../../store/db.js";
import type { Logger } from "../log.js";
import { createReceipts } from "./receipts.js";

/** What a command says, to whomever it goes. */
export interface Command {
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly qos: 0 | 1;
  /** Seconds that it may wait. */
  readonly ttl: number;
}

/** A message whose log is committed. */
export interface Logged {
  readonly logID: number;
  readonly groupLogIntID: number | null;
  readonly device: number;
}

/** The way down: a log first, then the packet, then what the client says to it. */
export interface Commands {
  /** To one device; true when it was handed over. */
  publish(actor: Actor, target: CommandTarget, command: Command): Promise<boolean>;
  /** Whether a client is there that the message would reach. */
  reaches(target: Pick<CommandTarget, "id" | "blocked">, topic: string): boolean;
  /**
   * Sends what is logged as issued; its log moves to confirmed at the acknowledgement. A connection that ends, or
   * a service that stops, before that leaves it issued.
   */
  send(logged: Logged, command: Command): boolean;
  /** To every client of a member, without log and receipt. */
  sendToMember(target: Pick<CommandTarget, "id" | "blocked">, topic: string, payload: Uint8Array): boolean;
  /** Whether any client of the device is there. */
  isConnected(target: Pick<CommandTarget, "id" | "blocked">): boolean;
  close(): Promise<void>;
}

export interface CommandsDeps {
  readonly db: Db;
  readonly sessions: Sessions;
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export function createCommands({ db, sessions, log, now }: CommandsDeps): Commands {
  const receipts = createReceipts({ db, log, now });
  const { failed, issued, confirmed, unconfirmed } = publishStatuses;

  const reaches: Commands["reaches"] = (target, topic) =>
    target.blocked === 0 && sessions.reaches(target.id, topic);

  const send: Commands["send"] = ({ logID: id, groupLogIntID, device }, command) => {
    const sent = sessions.send(device, command, (acknowledged) => {
      if (acknowledged) receipts.add({ id, groupLogIntID, publishStatus: confirmed });
    });
    if (sent === "sent") receipts.add({ id, groupLogIntID, publishStatus: unconfirmed });
    // The client has gone, or reads too slowly, since its log was written.
    if (sent === "none") receipts.add({ id, groupLogIntID, publishStatus: failed });
    return sent !== "none";
  };

  return {
    reaches,
    send,
    publish: async (actor, target, command) => {
      const publishStatus = reaches(target, command.topic) ? issued : failed;
      const fields = { deviceIntID: target.id, groupLogIntID: null, publishStatus, ...command };
      const logID = await createControlLog(db, actor, now(), fields);
      return publishStatus === issued && send({ logID, groupLogIntID: null, device: target.id }, command);
    },
    isConnected: (target) => target.blocked === 0 && sessions.has(target.id),
    sendToMember: (target, topic, payload) =>
      target.blocked === 0 && sessions.sendToAll(target.id, topic, payload),
    close: receipts.close,
  };
}
