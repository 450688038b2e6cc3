import { setTimeout as delay } from "node:timers/promises";
import { createYielder } from "../../lib/scheduling.js";
import type { Db, Statement } from "./db.js";

/** How long the log of changes is kept, and how many rows and bytes of one tenant. */
interface ChangeRetentionOptions {
  readonly days: number;
  readonly rowsOfTenantMax: number;
  readonly bytesOfTenantMax: number;
  /** Resolves once every reader of the change feed in this process has seen what is stored. */
  readonly followed: () => Promise<void>;
  /** Whether a round under way must end now. */
  readonly isClosing: () => boolean;
}

const dayMs = 86_400_000;
/**
 * If other processes share the metadata, a tenant's rows beyond its bounds stay this long: those processes follow the
 * rows, and look again within seconds.
 */
const followedMs = 3_600_000;
/** Rows that one statement deletes. */
const deletedAtOnce = 250;
/** Ids that one statement counts; a block of a tenant's rows holds about this many. */
const countedAtOnce = 5000;
/** Bytes of a row besides its detail. */
const rowBytes = 160;
/** After each delete a round rests for as long as the delete took, but at most this long. */
const restMsMax = 100;

/** Consecutive rows of a tenant in the log. */
interface Block {
  /** The last id. */
  through: number;
  rows: number;
  bytes: number;
}

/**
 * Drops rows of the log of changes, the oldest first: those older than `days`, and a tenant's rows beyond its bounds,
 * so that a tenant that writes without end loses only its own trace. A row that a reader of the change feed may not
 * have seen stays. Bounds are kept block by block, so some thousands of rows more may stay. A round goes on until no
 * row is beyond a bound, and tenants take turns with their deletes, so that it keeps pace with the writers. `trusted` is
 * the time by which rows are old. Returns how many were.
 */
export function createChangeRetention(
  db: Db,
  { days, rowsOfTenantMax, bytesOfTenantMax, followed, isClosing }: ChangeRetentionOptions,
): (now: number, trusted?: number) => Promise<{ readonly old: number }> {
  /** Each tenant's rows up to `counted`; rows that have gone meanwhile are dropped when they matter. */
  const tenants = new Map<number, Block[]>();
  let counted: number | null = null;
  const youngMs = db.shared ? followedMs : 0;

  /** Counts the rows written since the last count. */
  async function count(end: number): Promise<void> {
    if (counted === null) {
      const first = await db.first<{ id: number | null }>("select min(id) id from change");
      counted = (first?.id ?? end + 1) - 1;
    }
    // The embedded metadata reads without leaving the turn, and the log may have millions of rows.
    const yieldIfDue = createYielder();
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
      await yieldIfDue();
    }
  }

  /** For each exceeded bound, the delete of the first rows beyond it. */
  async function findSurplus(end: number, now: number, trusted: number): Promise<Statement[]> {
    const found: Statement[] = [
      {
        // Ids ascend with time, so the oldest rows come first and no index on the time is needed.
        sql: `delete from change where id in (select id from change where id <= ? order by id limit ${deletedAtOnce})
          and at < ?`,
        args: [end, trusted - days * dayMs],
      },
    ];
    const yieldIfDue = createYielder();
    for (const [tenant, blocks] of tenants) {
      await yieldIfDue();
      const sums = sumBlocks(blocks);
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

  return async (now, trusted = now) => {
    let old = 0;
    const newest = await db.first<{ id: number | null }>("select max(id) id from change");
    const end = newest?.id ?? 0;
    await followed();
    await count(end);
    const surplus = await findSurplus(end, now, trusted);
    for (let left = surplus; left.length > 0; ) {
      const more: Statement[] = [];
      for (const one of left) {
        if (isClosing()) return { old };
        const began = performance.now();
        const [result] = await db.write([one]);
        if (one === surplus[0]) old += result?.rowsAffected ?? 0;
        if (result?.rowsAffected === deletedAtOnce) more.push(one);
        await delay(Math.min(restMsMax, performance.now() - began));
      }
      left = more;
    }
    return { old };
  };
}

/** Adds the rows to the last block if all fit into it, else as a new block. */
function addBlock(blocks: Block[], block: Block): void {
  const last = blocks.at(-1);
  if (last === undefined || last.rows + block.rows > countedAtOnce) blocks.push(block);
  else {
    last.through = block.through;
    last.rows += block.rows;
    last.bytes += block.bytes;
  }
}

const sumBlocks = (blocks: readonly Block[]): { readonly rows: number; readonly bytes: number } => ({
  rows: blocks.reduce((sum, block) => sum + block.rows, 0),
  bytes: blocks.reduce((sum, block) => sum + block.bytes, 0),
});

/** Drops the blocks whose rows all come before the oldest remaining row. */
function dropGone(blocks: Block[], oldestID: number): void {
  while (blocks[0] !== undefined && blocks[0].through < oldestID) blocks.shift();
}

/** The last id of the oldest blocks that lie wholly beyond a bound; null if there are none. */
function boundary(blocks: readonly Block[], rowsMax: number, bytesMax: number): number | null {
  const sums = sumBlocks(blocks);
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
