import { groupInbox } from "../../ingest/messages/topics.js";
import { createSlice } from "../../store/lib/turns.js";
import type { CommandTarget } from "../../store/metadata/commands/command-targets.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import {
  countMembersAfter,
  endGroupTurns,
  type GroupTurns,
  membersAfter,
  openGroupTurns,
  type Turn,
  takeTurn,
} from "../../store/metadata/groups/group-turns.js";
import type { TaskKind } from "../tasks/task-kind.js";
import { untilServed } from "../tasks/until-served.js";
import type { Command, Commands } from "./commands.js";

/** The task's input, stored as JSON. */
export interface GroupPublishInput {
  readonly groupIntID: number;
  readonly groupID: string;
  readonly groupName: string;
  /** 1: one message to each device, with a receipt; 0: to the group's inbox, without. */
  readonly needAck: number;
  readonly topic: string;
  readonly payload: string;
  readonly qos: 0 | 1;
  readonly ttl: number;
}

export const groupPublish = "group_publish";

const membersPerTurnDefault = 250;
/** Payload bytes of one turn, which are handed over together. */
export const turnBytesMax = 4 * 1024 * 1024;
/** Group commands sent at once, each of another tenant. */
const sendingsMax = 8;

interface GroupPublishDeps {
  readonly db: Db;
  readonly commands: Commands;
  /** Members of one turn at most: one write, and at most this many packets at once. */
  readonly membersPerTurn?: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** One message to every member of a group. A turn is committed before it is sent, so no device gets it twice. */
export function groupPublishKind(deps: GroupPublishDeps): TaskKind {
  const { db, now, membersPerTurn = membersPerTurnDefault } = deps;
  return {
    resumes: true,
    apart: sendingsMax,
    run: async ({ task, signal, progress }) => {
      const input = task.input as GroupPublishInput;
      const command = commandOf(input);
      const { groupIntID, groupID, groupName, needAck } = input;
      const names = { task: task.id, groupIntID, groupID, groupName, needAck };
      const { topic, payload } = command;
      const served: Served = (work) => untilServed(signal, work);
      let turns = await served(() => openGroupTurns(db, task, now(), { ...names, topic, payload }));
      const { id, handedOver, failed } = turns;
      const left = await served(() => countMembersAfter(db, groupIntID, turns.lastMember));
      const total = Math.max(1, handedOver + failed + left);
      const fitting = Math.floor(turnBytesMax / Math.max(1, payload.length));
      const perTurn = Math.max(1, Math.min(membersPerTurn, fitting));
      const takeTurns = needAck === 0 ? sendWithout : sendWithReceipts;
      const end = () => endGroupTurns(db, now(), id);
      try {
        for (;;) {
          const members = await served(() => membersAfter(db, groupIntID, turns.lastMember, perTurn));
          if (members.length === 0) break;
          turns = await takeTurns({ ...deps, task, command, signal, served }, turns, members);
          await progress(((turns.handedOver + turns.failed) / total) * 100, told(turns));
        }
      } catch (error) {
        // Nobody continues it: its log must not wait for members that get nothing.
        if (!signal.aborted) await served(end).catch(() => undefined);
        throw error;
      }
      return { msg: told(await served(end)) };
    },
  };
}

/** Retries while the metadata are unavailable: a short outage must not end a command halfway. */
type Served = <T>(work: () => Promise<T>) => Promise<T>;

interface Sending extends GroupPublishDeps {
  readonly task: Actor;
  readonly command: Command;
  readonly signal: AbortSignal;
  readonly served: Served;
}

function commandOf({ needAck, groupID, topic, payload, qos, ttl }: GroupPublishInput): Command {
  return {
    topic: needAck === 0 ? groupInbox(groupID) : topic,
    payload: Buffer.from(payload),
    qos,
    ttl,
  };
}

const told = ({ handedOver, failed }: GroupTurns) => ({
  publish_success_num: handedOver,
  publish_failure_num: failed,
});

/** One message to each member, each with its log. */
async function sendWithReceipts(
  { db, commands, now, task, command, signal, served }: Sending,
  turns: GroupTurns,
  members: readonly CommandTarget[],
): Promise<GroupTurns> {
  await commands.untilTaken(task.tenant);
  const routes = await served(() => Promise.all(members.map((member) => commands.routeTo(member, command))));
  const turn = turnOf(turns, members, routes.filter((route) => route !== null).length);
  const logs = members.map((member, i) => commands.logOf(member, routes[i] ?? null, turns.id, command));
  const ids = await served(() => takeTurn(db, task, now(), turn, logs));
  const sending: Promise<unknown>[] = [];
  const slice = createSlice();
  for (const [i, logID] of ids.entries()) {
    const route = routes[i] ?? null;
    if (route === null) continue;
    const sent = commands.send(route, { logID, groupLogIntID: turns.id }, command);
    // It is waited for below.
    sent.catch(() => undefined);
    sending.push(sent);
    if (slice.isOver()) await slice.next();
  }
  await unlessAborted(commands.untilKept(sending), signal);
  return sum(turns, turn);
}

/** To whoever is connected, without logs. */
async function sendWithout(
  { db, commands, now, task, command, served }: Sending,
  turns: GroupTurns,
  members: readonly CommandTarget[],
): Promise<GroupTurns> {
  const { topic, payload } = command;
  await commands.untilTaken(task.tenant);
  const there = await served(() => Promise.all(members.map((member) => commands.isConnected(member, topic))));
  const turn = turnOf(turns, members, there.filter(Boolean).length);
  await served(() => takeTurn(db, task, now(), turn, []));
  const slice = createSlice();
  for (const [i, member] of members.entries()) {
    if (there[i] === true) commands.sendToMember(member, topic, payload);
    if (slice.isOver()) await slice.next();
  }
  return sum(turns, turn);
}

function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    // An abort that came earlier fires no event.
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function turnOf({ id, lastMember }: GroupTurns, members: readonly CommandTarget[], handedOver: number): Turn {
  return {
    id,
    after: lastMember,
    lastMember: members.at(-1)?.id ?? lastMember,
    handedOver,
    failed: members.length - handedOver,
  };
}

function sum(turns: GroupTurns, turn: Turn): GroupTurns {
  return {
    ...turn,
    handedOver: turns.handedOver + turn.handedOver,
    failed: turns.failed + turn.failed,
  };
}
