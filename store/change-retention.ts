import type { Db, Statement } from "./db.js";
import { createBreather } from "./turns.js";

/** How long the log of changes is kept, and how many rows of one tenant. */
export interface ChangeRetentionOptions {
  readonly days: number;
  readonly rowsOfTenantMax: number;
  /** Resolves once every reader of the change feed in this process has seen what is stored. */
  readonly followed: () => Promise<void>;
}

const dayMs = 86_400_000;
/**
 * A tenant's rows beyond its bound stay for so long: other processes on the same metadata follow them, and look again
 * within seconds.
 */
const followedMs = 3_600_000;
/** Rows of one delete, and deletes of one round. */
const deletedAtOnce = 250;
const deletesOfRound = 400;
/** Ids that are counted in one statement; a block of a tenant's rows holds about so many. */
const countedAtOnce = 5000;

/** Rows of a tenant that follow one another in the log. */
interface Block {
  /** The last id. */
  through: number;
  rows: number;
}

/**
 * Drops rows of the log of changes, the oldest first: those older than `days`, and of a tenant those beyond its
 * bound, so that one that writes without end loses its own trace only. A row that a reader of the change feed may not
 * have seen stays. The bound is met by blocks: some thousands of rows more may stay.
 */
export function createChangeRetention(
  db: Db,
  { days, rowsOfTenantMax, followed }: ChangeRetentionOptions,
): (now: number) => Promise<void> {
  /** Of each tenant its rows up to `counted`, in blocks; rows that are gone meanwhile are dropped when they matter. */
  const tenants = new Map<number, Block[]>();
  let counted: number | null = null;

  /** Counts the rows that have come since. */
  async function count(end: number): Promise<void> {
    if (counted === null) {
      const first = await db.first<{ id: number | null }>("select min(id) id from change");
      counted = (first?.id ?? end + 1) - 1;
    }
    // The embedded metadata answers within the turn, and the log may have millions of rows.
    const breathe = createBreather();
    while (counted < end) {
      await breathe();
      const through: number = Math.min(counted + countedAtOnce, end);
      const rows = await db.all<{ tenant: number; n: number }>(
        "select tenant, count(*) n from change where id > ? and id <= ? group by tenant",
        [counted, through],
      );
      for (const { tenant, n } of rows) add(tenant, { through, rows: n });
      counted = through;
    }
  }

  function add(tenant: number, block: Block): void {
    const blocks = tenants.get(tenant) ?? [];
    tenants.set(tenant, blocks);
    const last = blocks.at(-1);
    if (last === undefined || last.rows + block.rows > countedAtOnce) blocks.push(block);
    else {
      last.through = block.through;
      last.rows += block.rows;
    }
  }

  /** The id up to which a tenant has more than its bound behind; null where it has not. */
  async function boundary(tenant: number, blocks: Block[]): Promise<number | null> {
    let beyond = blocks.reduce((sum, { rows }) => sum + rows, 0) - rowsOfTenantMax;
    if (beyond <= 0) return null;
    const oldest = await db.first<{ id: number | null }>("select min(id) id from change where tenant = ?", [
      tenant,
    ]);
    while (blocks[0] !== undefined && blocks[0].through < (oldest?.id ?? Number.POSITIVE_INFINITY)) {
      beyond -= blocks.shift()?.rows ?? 0;
    }
    let through: number | null = null;
    for (const block of blocks) {
      beyond -= block.rows;
      if (beyond < 0) break;
      through = block.through;
    }
    return through;
  }

  return async (now) => {
    const newest = await db.first<{ id: number | null }>("select max(id) id from change");
    const end = newest?.id ?? 0;
    await followed();
    await count(end);
    let deletes = deletesOfRound;
    const drop = async (statement: Statement): Promise<void> => {
      for (let rows = deletedAtOnce; rows === deletedAtOnce && deletes > 0; deletes--) {
        const [result] = await db.write([statement]);
        rows = result?.rowsAffected ?? 0;
      }
    };
    await drop({
      // Ids ascend with time, so the oldest stand first and no index on the time is needed.
      sql: `delete from change where id in (select id from change where id <= ? order by id limit ${deletedAtOnce})
        and at < ?`,
      args: [end, now - days * dayMs],
    });
    const breathe = createBreather();
    for (const [tenant, blocks] of tenants) {
      await breathe();
      const through = await boundary(tenant, blocks);
      if (through === null) continue;
      await drop({
        sql: `delete from change where id in
          (select id from change where tenant = ? and id <= ? order by id limit ${deletedAtOnce}) and at < ?`,
        args: [tenant, through, now - followedMs],
      });
    }
  };
}
