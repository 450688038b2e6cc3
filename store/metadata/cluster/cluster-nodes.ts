/** Each process of a cluster announces by a row that it is alive. */
import type { Db } from "../db/db.js";
import { changesRow } from "./changes-row.js";

/** A process of the cluster: its number, and what distinguishes it from another process with the same one. */
export interface NodeIdentity {
  readonly number: number;
  readonly owner: string;
}

export interface NodeBeat extends NodeIdentity {
  /** Another one each time that the process says it is there. */
  readonly beat: number;
}

/** What others must know of a process that is there. */
export interface NodeLacks {
  /** Whether it reaches what keeps the shards' journals. */
  readonly isAble: boolean;
  /** Shards that it does not want for the time being, since it could not open them. */
  readonly refuses: readonly number[];
}

type Writes = Pick<Db, "write">;

/**
 * Takes a number for a process, from exactly the one that was seen with it, or from none; false: that one has beaten
 * since, or another has come.
 */
export async function takeNumber(
  db: Writes,
  { number, owner }: NodeIdentity,
  seen: NodeBeat | null,
): Promise<boolean> {
  return changesRow(
    db,
    `insert into cluster_node (number, owner, beat) values (?, ?, 1)
     on conflict do update set owner = excluded.owner, beat = beat + 1, leaving = 0, able = 1, refuses = '[]'
     where owner = ? and beat = ?`,
    [number, owner, seen?.owner ?? null, seen?.beat ?? null],
  );
}

/** Says that the process is there; false: another process has taken its number meanwhile. */
export async function beatNode(
  db: Writes,
  { number, owner }: NodeIdentity,
  { isAble, refuses }: NodeLacks,
): Promise<boolean> {
  return changesRow(
    db,
    `insert into cluster_node (number, owner, beat, able, refuses) values (?, ?, 1, ?, ?)
     on conflict do update set beat = beat + 1, able = excluded.able, refuses = excluded.refuses
     where owner = excluded.owner`,
    [number, owner, isAble ? 1 : 0, JSON.stringify(refuses)],
  );
}

/** Says that the process is about to stop: it gives its shards to others, and gets none. */
export async function markLeaving(db: Writes, { number, owner }: NodeIdentity): Promise<void> {
  await changesRow(db, "update cluster_node set leaving = 1 where number = ? and owner = ?", [number, owner]);
}

/** The process has stopped: nobody needs to wait for its next beat. */
export async function removeNode(db: Writes, { number, owner }: NodeIdentity): Promise<void> {
  await changesRow(db, "delete from cluster_node where number = ? and owner = ?", [number, owner]);
}
