import { groupInbox } from "../../ingest/topics.js";
import type { Actor } from "../../store/changes.js";
import { type NewControlLog, publishStatuses } from "../../store/control-logs.js";
import type { Db } from "../../store/db.js";
import {
  countMembersAfter,
  endGroupTurns,
  type GroupTurns,
  type Member,
  membersAfter,
  openGroupTurns,
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
      for (;;) {
        signal.throwIfAborted();
        const members = await membersAfter(db, groupIntID, turns.lastMember, membersPerTurn);
        if (members.length === 0) break;
        turns = await takeAndSend(deps, task, needAck, command, turns, members);
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

async function takeAndSend(
  { db, commands, now }: GroupPublishDeps,
  actor: Actor,
  needAck: number,
  command: Command,
  turns: GroupTurns,
  members: readonly Member[],
): Promise<GroupTurns> {
  const isThere = (member: Member): boolean =>
    needAck === 0 ? commands.isConnected(member) : commands.reaches(member, command.topic);
  const there = members.map(isThere);
  const handedOver = there.filter(Boolean).length;
  const failed = members.length - handedOver;
  const lastMember = members.at(-1)?.id ?? turns.lastMember;
  const logs = members.map((member, i) => logOf(turns.id, member, command, there[i] === true));
  const turn = { id: turns.id, lastMember, handedOver, failed };
  const ids = await takeTurn(db, actor, now(), turn, needAck === 0 ? [] : logs);
  for (const [i, member] of members.entries()) {
    if (there[i] !== true) continue;
    const logID = ids[i];
    if (logID === undefined) commands.sendToMember(member, command.topic, command.payload);
    else commands.send({ logID, groupLogIntID: turns.id, device: member.id }, command);
  }
  return {
    ...turn,
    handedOver: turns.handedOver + handedOver,
    failed: turns.failed + failed,
  };
}

function logOf(groupLogIntID: number, member: Member, command: Command, isThere: boolean): NewControlLog {
  const publishStatus = isThere ? publishStatuses.issued : publishStatuses.failed;
  return { deviceIntID: member.id, groupLogIntID, publishStatus, ...command };
}
