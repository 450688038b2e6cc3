import { orAborted } from "../../store/lib/abortable.js";
import { createSlice } from "../../store/lib/scheduling.js";
import {
  type BulkAction,
  type BulkError,
  takeCommandPart,
  withPart,
} from "../../store/metadata/commands/bulk-actions.js";
import { commandTargets } from "../../store/metadata/commands/command-targets.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { Command, Commands } from "../commands/commands.js";
import { isGone } from "./acts.js";

export interface SendDeps {
  readonly db: Db;
  readonly commands: Commands;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly signal: AbortSignal;
  /** Retries while the metadata are unavailable. */
  readonly served: <T>(work: () => Promise<T>) => Promise<T>;
}

const nobody = "nobody takes the command: the device is away, blocked, or a policy keeps the topic from it";

/** Sends a command to the devices of one part, each with its log. The part is taken before any of it is sent. */
export async function sendPart(
  { db, commands, now, signal, served }: SendDeps,
  actor: Actor,
  command: Command,
  action: BulkAction,
  ids: readonly number[],
): Promise<BulkAction> {
  await commands.untilTaken(actor.tenant);
  const targets = await served(() => commandTargets(db, actor.tenant, ids));
  const routes = await served(() => Promise.all(targets.map((target) => commands.routeTo(target, command))));
  const known = new Set(targets.map(({ id }) => id));
  const failures: BulkError[] = [
    ...ids.filter((id) => !known.has(id)).map((id) => ({ id, reason: isGone })),
    ...targets.filter((_, i) => routes[i] == null).map(({ id }) => ({ id, reason: nobody })),
  ];
  const after = withPart(action, ids.length, failures);
  const logs = targets.map((target, i) => commands.logOf(target, routes[i] ?? null, null, command));
  const logIDs = await served(() => takeCommandPart(db, actor, now(), action, after, logs));
  const sending: Promise<unknown>[] = [];
  const slice = createSlice();
  for (const [i, { id }] of targets.entries()) {
    const [route, logID] = [routes[i], logIDs.get(id)];
    if (route == null || logID === undefined) continue;
    const sent = commands.send(route, { logID, groupLogIntID: null }, command);
    // It is waited for below.
    sent.catch(() => undefined);
    sending.push(sent);
    if (slice.isOver()) await slice.next();
  }
  await orAborted(commands.untilKept(sending), signal);
  signal.throwIfAborted();
  return after;
}
