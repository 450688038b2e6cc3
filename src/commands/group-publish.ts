import { groupInbox } from "../../ingest/messages/topics.js";
import { orAborted } from "../../store/lib/abortable.js";
import { createSlice } from "../../store/lib/scheduling.js";
import type { CommandTarget } from "../../store/metadata/commands/command-targets.js";
import type { Actor } from "../../store/metadata/db/changes.js";
import type { Db } from "../../store/metadata/db/db.js";
import {
  commitGroupBatch,
  countMembersAfter,
  endGroupSending,
  type GroupBatch,
  type GroupSending,
  membersAfter,
  openGroupSending,
} from "../../store/metadata/groups/group-sending.js";
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

const membersPerBatchDefault = 250;
/** Payload bytes of one batch, which is handed over together. */
export const groupBatchBytesMax = 4 * 1024 * 1024;
/** Group commands sent at once, each of another tenant. */
const sendingsMax = 8;

interface GroupPublishDeps {
  readonly db: Db;
  readonly commands: Commands;
  /** The most members in one batch: one write, and at most this many packets at once. */
  readonly membersPerBatch?: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** One message to every member of a group. A batch is committed before it is sent, so no device gets it twice. */
export function groupPublishKind(deps: GroupPublishDeps): TaskKind {
  const { db, now, membersPerBatch = membersPerBatchDefault } = deps;
  return {
    resumes: true,
    apart: sendingsMax,
    run: async ({ task, signal, progress }) => {
      const input = task.input as GroupPublishInput;
      const command = toCommand(input);
      const { groupIntID, groupID, groupName, needAck } = input;
      const names = { task: task.id, groupIntID, groupID, groupName, needAck };
      const { topic, payload } = command;
      const served: Served = (work) => untilServed(signal, work);
      let group = await served(() => openGroupSending(db, task, now(), { ...names, topic, payload }));
      const { id, handedOver, failed } = group;
      const left = await served(() => countMembersAfter(db, groupIntID, group.lastMember));
      const total = Math.max(1, handedOver + failed + left);
      const fitting = Math.floor(groupBatchBytesMax / Math.max(1, payload.length));
      const perBatch = Math.max(1, Math.min(membersPerBatch, fitting));
      const sendBatch = needAck === 0 ? sendWithoutReceipts : sendWithReceipts;
      const end = () => endGroupSending(db, now(), id);
      try {
        for (;;) {
          const members = await served(() => membersAfter(db, groupIntID, group.lastMember, perBatch));
          if (members.length === 0) break;
          group = await sendBatch({ ...deps, task, command, signal, served }, group, members);
          await progress(((group.handedOver + group.failed) / total) * 100, toTaskDetail(group));
        }
      } catch (error) {
        // Nobody continues it: its log must not wait for members that get nothing.
        if (!signal.aborted) await served(end).catch(() => undefined);
        throw error;
      }
      return { msg: toTaskDetail(await served(end)) };
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

function toCommand({ needAck, groupID, topic, payload, qos, ttl }: GroupPublishInput): Command {
  return {
    topic: needAck === 0 ? groupInbox(groupID) : topic,
    payload: Buffer.from(payload),
    qos,
    ttl,
  };
}

const toTaskDetail = ({ handedOver, failed }: GroupSending) => ({
  publish_success_num: handedOver,
  publish_failure_num: failed,
});

/** Sends one message to each member, each with its log. */
async function sendWithReceipts(
  { db, commands, now, task, command, signal, served }: Sending,
  group: GroupSending,
  members: readonly CommandTarget[],
): Promise<GroupSending> {
  await commands.untilTaken(task.tenant);
  const routes = await served(() => Promise.all(members.map((member) => commands.routeTo(member, command))));
  const batch = createBatch(group, members, routes.filter((route) => route !== null).length);
  const logs = members.map((member, i) => commands.logOf(member, routes[i] ?? null, group.id, command));
  const ids = await served(() => commitGroupBatch(db, task, now(), batch, logs));
  const sending: Promise<unknown>[] = [];
  const slice = createSlice();
  for (const [i, logID] of ids.entries()) {
    const route = routes[i] ?? null;
    if (route === null) continue;
    const sent = commands.send(route, { logID, groupLogIntID: group.id }, command);
    // It is waited for below.
    sent.catch(() => undefined);
    sending.push(sent);
    if (slice.isOver()) await slice.next();
  }
  await orAborted(commands.untilKept(sending), signal);
  signal.throwIfAborted();
  return sum(group, batch);
}

/** Sends to all connected members, without logs. */
async function sendWithoutReceipts(
  { db, commands, now, task, command, served }: Sending,
  group: GroupSending,
  members: readonly CommandTarget[],
): Promise<GroupSending> {
  const { topic, payload } = command;
  await commands.untilTaken(task.tenant);
  const there = await served(() => Promise.all(members.map((member) => commands.isConnected(member, topic))));
  const batch = createBatch(group, members, there.filter(Boolean).length);
  await served(() => commitGroupBatch(db, task, now(), batch, []));
  const slice = createSlice();
  for (const [i, member] of members.entries()) {
    if (there[i] === true) commands.sendToMember(member, topic, payload);
    if (slice.isOver()) await slice.next();
  }
  return sum(group, batch);
}

function createBatch(
  { id, lastMember }: GroupSending,
  members: readonly CommandTarget[],
  handedOver: number,
): GroupBatch {
  return {
    id,
    after: lastMember,
    lastMember: members.at(-1)?.id ?? lastMember,
    handedOver,
    failed: members.length - handedOver,
  };
}

function sum(group: GroupSending, batch: GroupBatch): GroupSending {
  return {
    ...batch,
    handedOver: group.handedOver + batch.handedOver,
    failed: group.failed + batch.failed,
  };
}
