import { createBreather, pause } from "../../lib/turns.js";
import type { Db, Statement } from "./db.js";

/** How long the log of changes is kept, and how much of one tenant. */
interface ChangeRetentionOptions {
  readonly days: number;
  readonly rowsOfTenantMax: number;
  readonly bytesOfTenantMax: number;
  /** Resolves once every reader of the change feed in this process has seen what is stored. */
  readonly followed: () => Promise<void>;
  /** Whether a round that is under way ends now. */
  readonly isClosing: () => boolean;
}

const dayMs = 86_400_000;
/**
 * Where other processes share the metadata, a tenant's rows beyond its bounds stay for so long: they follow them, and
 * look again within seconds.
 */
const followedMs = 3_600_000;
/** Rows of one delete. */
const deletedAtOnce = 250;
/** Ids that are counted in one statement; a block of a tenant's rows holds about so many. */
const countedAtOnce = 5000;
/** What a row takes beside its detail. */
const rowBytes = 160;
/** A round rests after each delete for as long as that took, at most this. */
const restMsMax = 100;

/** Rows of a tenant that follow one another in the log. */
interface Block {
  /** The last id. */
  through: number;
  rows: number;
  bytes: number;
}

/**
 * Drops rows of the log of changes, the oldest first: those older than `days`, and of a tenant those beyond its
 * bounds, so that one that writes without end loses its own trace only. A row that a reader of the change feed may not
 * have seen stays. The bounds are met by blocks: some thousands of rows more may stay. A round goes on until nothing is
 * beyond them, the tenants' deletes in turns, so that it keeps pace with the writers.
 */
export function createChangeRetention(
  db: Db,
  { days, rowsOfTenantMax, bytesOfTenantMax, followed, isClosing }: ChangeRetentionOptions,
): (now: number) => Promise<void> {
  /** Of each tenant its rows up to `counted`; those that are gone meanwhile are dropped when they matter. */
  const tenants = new Map<number, Block[]>();
  let counted: number | null = null;
  const youngMs = db.shared ? followedMs : 0;

  /** Counts the rows that were written since. */
  async function count(end: number): Promise<void> {
    if (counted === null) {
      const first = await db.first<{ id: number | null }>("select min(id) id from change");
      counted = (first?.id ?? end + 1) - 1;
    }
    // The embedded metadata answers within the turn, and the log may have millions of rows.
    const breathe = createBreather();
    while (counted < end && !isClosing()) {
      const through: number = Math.min(counted + countedAtOnce, end);
      const rows = await db.all<{ tenant: number; n: number; bytes: number }>(
        `select tenant, count(*) n, coalesce(sum(octet_length(detail)), 0) bytes
          from change where id > ? and id <= ? group by tenant`,
        [counted, through],
      );
      for (const { tenant, n, bytes } of rows) {
        const blocks = tenants.get(tenant) ?? [];
        tenants.set(tenant, blocks);
        addBlock(blocks, { through, rows: n, bytes: bytes + n * rowBytes });
      }
      counted = through;
      await breathe();
    }
  }

  /** Of each bound the delete of the first rows beyond it. */
  async function surplusOf(end: number, now: number): Promise<Statement[]> {
    const found: Statement[] = [
      {
        // Ids ascend with time, so the oldest stand first and no index on the time is needed.
        sql: `delete from change where id in (select id from change where id <= ? order by id limit ${deletedAtOnce})
          and at < ?`,
        args: [end, now - days * dayMs],
      },
    ];
    const breathe = createBreather();
    for (const [tenant, blocks] of tenants) {
      await breathe();
      const sums = sumsOf(blocks);
      if (sums.rows <= rowsOfTenantMax && sums.bytes <= bytesOfTenantMax) continue;
      const oldest = await db.first<{ id: number | null }>("select min(id) id from change where tenant = ?", [
        tenant,
      ]);
      dropGone(blocks, oldest?.id ?? Number.POSITIVE_INFINITY);
      const through = boundary(blocks, rowsOfTenantMax, bytesOfTenantMax);
      if (through === null) continue;
      found.push({
        sql: `delete from change where id in
          (select id from change where tenant = ? and id <= ? order by id limit ${deletedAtOnce}) and at <= ?`,
        args: [tenant, through, now - youngMs],
      });
    }
    return found;
  }

  return async (now) => {
    const newest = await db.first<{ id: number | null }>("select max(id) id from change");
    const end = newest?.id ?? 0;
    await followed();
    await count(end);
    for (let left = await surplusOf(end, now); left.length > 0; ) {
      const more: Statement[] = [];
      for (const one of left) {
        if (isClosing()) return;
        const began = performance.now();
        const [result] = await db.write([one]);
        if (result?.rowsAffected === deletedAtOnce) more.push(one);
        await pause(Math.min(restMsMax, performance.now() - began));
      }
      left = more;
    }
  };
}

/** Adds to the last block what it has room for. */
function addBlock(blocks: Block[], block: Block): void {
  const last = blocks.at(-1);
  if (last === undefined || last.rows + block.rows > countedAtOnce) blocks.push(block);
  else {
    last.through = block.through;
    last.rows += block.rows;
    last.bytes += block.bytes;
  }
}

const sumsOf = (blocks: readonly Block[]): { readonly rows: number; readonly bytes: number } => ({
  rows: blocks.reduce((sum, block) => sum + block.rows, 0),
  bytes: blocks.reduce((sum, block) => sum + block.bytes, 0),
});

/** Forgets the blocks whose rows lie before the oldest one that is there. */
function dropGone(blocks: Block[], oldestID: number): void {
  while (blocks[0] !== undefined && blocks[0].through < oldestID) blocks.shift();
}

/** The id up to which rows are to go, so that those after it are within both bounds; null where all are. */
function boundary(blocks: readonly Block[], rowsMax: number, bytesMax: number): number | null {
  const sums = sumsOf(blocks);
  let rows = sums.rows - rowsMax;
  let bytes = sums.bytes - bytesMax;
  let through: number | null = null;
  for (const block of blocks) {
    rows -= block.rows;
    bytes -= block.bytes;
    if (rows < 0 && bytes < 0) break;
    through = block.through;
  }
  return through;
}
