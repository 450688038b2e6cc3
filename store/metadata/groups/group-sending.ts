import { type CommandTarget, commandTargetColumns } from "../commands/command-targets.js";
import {
  insertMemberLogs,
  type NewControlLog,
  publishStatuses,
  updateGroupStatus,
} from "../commands/control-logs.js";
import type { Actor } from "../db/changes.js";
import type { Db } from "../db/db.js";
import { insertInto, notFound } from "../db/table.js";

/** The sending of one message to a group: every member is in exactly one batch, even across restarts. */
export interface GroupSending {
  /** Record id of the group's log. */
  readonly id: number;
  /** Members up to this record id have been in a batch. */
  readonly lastMember: number;
  readonly handedOver: number;
  readonly failed: number;
}

interface NewGroupControlLog {
  readonly task: string;
  readonly groupIntID: number;
  readonly groupID: string;
  readonly groupName: string;
  readonly topic: string;
  readonly payload: Uint8Array;
  readonly needAck: number;
}

/** The task's group log: made by the task's first run, and found again by later ones. */
export async function openGroupSending(
  db: Db,
  actor: Actor,
  now: number,
  log: NewGroupControlLog,
): Promise<GroupSending> {
  const { tenant, username: publishUser, userIntID } = actor;
  const publishStatus = log.needAck === 0 ? publishStatuses.noReceipt : publishStatuses.issued;
  const insert = insertInto("group_control_log", {
    ...log,
    tenant,
    publishStatus,
    publishUser,
    userIntID,
    createAt: now,
  });
  await db.write([{ ...insert, sql: `${insert.sql} on conflict (task) do nothing` }]);
  return readSending(db, "task = ?", log.task);
}

async function readSending(db: Db, condition: string, value: string | number): Promise<GroupSending> {
  const found = await db.first<GroupSending>(
    `select id, lastMember, handedOver, failed from group_control_log where ${condition}`,
    [value],
  );
  if (found === undefined) throw notFound("the group's log");
  return found;
}

/** Members of a group above a record id, ascending. */
export function membersAfter(db: Db, group: number, after: number, limit: number): Promise<CommandTarget[]> {
  return db.all<CommandTarget>(
    `select ${commandTargetColumns} from group_member m join device d on d.id = m.deviceIntID
     where m.groupIntID = ? and m.deviceIntID > ? order by m.deviceIntID limit ?`,
    [group, after, limit],
  );
}

export async function countMembersAfter(db: Db, group: number, after: number): Promise<number> {
  const row = await db.first<{ n: number }>(
    "select count(*) n from group_member where groupIntID = ? and deviceIntID > ?",
    [group, after],
  );
  return row?.n ?? 0;
}

/** The next members: how many can be reached for the message, and how many cannot. */
export interface GroupBatch extends GroupSending {
  /** The last member of the batch before. */
  readonly after: number;
}

/**
 * Commits a batch before any of it is sent. Returns the ids of the members' logs, in the order of their devices; so
 * does a repeated call, made because it was unknown whether the first had committed.
 */
export async function commitGroupBatch(
  db: Db,
  actor: Actor,
  now: number,
  batch: GroupBatch,
  logs: readonly NewControlLog[],
): Promise<number[]> {
  const { id, after, lastMember, handedOver, failed } = batch;
  const [taken, made] = await db.write([
    {
      sql: `update group_control_log set lastMember = ?, handedOver = handedOver + ?, failed = failed + ?
        where id = ? and lastMember = ?`,
      args: [lastMember, handedOver, failed, id, after],
    },
    ...(logs.length === 0 ? [] : [insertMemberLogs(actor, now, logs)]),
  ]);
  if (taken?.rowsAffected === 1) return (made?.rows ?? []).map(({ id }) => Number(id));
  const rows = await db.all<{ id: number }>(
    `select id from control_log where groupLogIntID = ? and deviceIntID > ? and deviceIntID <= ?
     order by deviceIntID`,
    [id, after, lastMember],
  );
  return rows.map((row) => row.id);
}

/** Ends the sending once every member has been in a batch; returns its outcome. */
export async function endGroupSending(db: Db, now: number, id: number): Promise<GroupSending> {
  await db.write([
    { sql: "update group_control_log set ended = 1 where id = ?", args: [id] },
    updateGroupStatus(now, id),
  ]);
  return readSending(db, "id = ?", id);
}
