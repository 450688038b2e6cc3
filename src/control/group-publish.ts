import { groupInbox } from "../../ingest/topics.js";
import type { Actor } from "../../store/changes.js";
import type { CommandTarget } from "../../store/command-targets.js";
import type { Db } from "../../store/db.js";
import {
  countMembersAfter,
  endGroupTurns,
  type GroupTurns,
  membersAfter,
  openGroupTurns,
  type Turn,
  takeTurn,
} from "../../store/group-turns.js";
import type { TaskKind } from "../tasks/runner.js";
import type { Command, Commands } from "./commands.js";

/** What the task is told; stored as JSON. */
export interface GroupPublishInput {
  readonly groupIntID: number;
  readonly groupID: string;
  readonly groupName: string;
  /** 1: one message a device with a receipt; 0: to the group's inbox without. */
  readonly needAck: number;
  readonly topic: string;
  readonly payload: string;
  readonly qos: 0 | 1;
  readonly ttl: number;
}

export const groupPublish = "group_publish";

const membersPerTurnDefault = 250;

export interface GroupPublishDeps {
  readonly db: Db;
  readonly commands: Commands;
  /** Members of one turn: one write, and at most so many packets at once. */
  readonly membersPerTurn?: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** One message to every member of a group. A turn is committed before it is sent, so no device gets it twice. */
export function groupPublishKind(deps: GroupPublishDeps): TaskKind {
  const { db, now, membersPerTurn = membersPerTurnDefault } = deps;
  return {
    resumes: true,
    run: async ({ task, signal, progress }) => {
      const input = task.input as GroupPublishInput;
      const command = commandOf(input);
      const { groupIntID, groupID, groupName, needAck } = input;
      const names = { task: task.id, groupIntID, groupID, groupName, needAck };
      const { topic, payload } = command;
      let turns = await openGroupTurns(db, task, now(), { ...names, topic, payload });
      const before = turns.handedOver + turns.failed;
      const total = before + (await countMembersAfter(db, groupIntID, turns.lastMember));
      const takeTurns = needAck === 0 ? sendWithout : sendWithReceipts;
      for (;;) {
        signal.throwIfAborted();
        const members = await membersAfter(db, groupIntID, turns.lastMember, membersPerTurn);
        if (members.length === 0) break;
        turns = await takeTurns(deps, task, command, turns, members, signal);
        await progress(((turns.handedOver + turns.failed) / Math.max(1, total)) * 100, told(turns));
      }
      return { msg: told(await endGroupTurns(db, now(), turns.id)) };
    },
  };
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

/** One message a member, with its log. */
async function sendWithReceipts(
  { db, commands, now }: GroupPublishDeps,
  actor: Actor,
  command: Command,
  turns: GroupTurns,
  members: readonly CommandTarget[],
  signal: AbortSignal,
): Promise<GroupTurns> {
  await commands.room();
  const ways = await Promise.all(members.map((member) => commands.wayTo(member, command)));
  const turn = turnOf(turns, members, ways.filter((way) => way !== null).length);
  const logs = members.map((member, i) => commands.logOf(member, ways[i] ?? null, turns.id, command));
  const ids = await takeTurn(db, actor, now(), turn, logs);
  const sent = Promise.all(
    ids.map(async (logID, i) => {
      const way = ways[i] ?? null;
      if (way !== null) await commands.send(way, { logID, groupLogIntID: turns.id }, command);
    }),
  );
  // A disk that takes nothing does not hold up the end of the service.
  await unlessAborted(sent, signal);
  return sum(turns, turn);
}

/** To whoever is there, without logs. */
async function sendWithout(
  { db, commands, now }: GroupPublishDeps,
  actor: Actor,
  { topic, payload }: Command,
  turns: GroupTurns,
  members: readonly CommandTarget[],
): Promise<GroupTurns> {
  const there = await Promise.all(members.map((member) => commands.isConnected(member, topic)));
  const turn = turnOf(turns, members, there.filter(Boolean).length);
  await takeTurn(db, actor, now(), turn, []);
  for (const [i, member] of members.entries()) {
    if (there[i] === true) commands.sendToMember(member, topic, payload);
  }
  return sum(turns, turn);
}

function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function turnOf({ id, lastMember }: GroupTurns, members: readonly CommandTarget[], handedOver: number): Turn {
  return {
    id,
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
