import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Client, createClient } from "@libsql/client";

export interface BareTable {
  /** Inserts rows in one transaction, by way of json_each: the fastest way in that the client has. */
  insert(rows: readonly (readonly [series: number, time: number, value: number])[]): Promise<void>;
  /** The mean of one series in each window [edge, next edge); null where it is empty. */
  windowMeans(series: number, edges: readonly number[]): Promise<(number | null)[]>;
  close(): Promise<void>;
}

/** A plain table num(series, time, value) in a file of its own: what the embedded store is measured against. */
export async function openBareTable(dir: string): Promise<BareTable> {
  const folder = await mkdtemp(join(dir, "tidemark-bench-"));
  const client = createClient({ url: `file:${join(folder, "bare.db")}`, concurrency: 1 });
  await client.execute("pragma journal_mode = wal");
  await client.execute("pragma synchronous = normal");
  await client.execute(
    `create table num(series integer, time integer, value real, primary key(series, time)) without rowid, strict`,
  );
  return {
    async insert(rows) {
      await client.execute({
        sql: `insert or replace into num(series, time, value)
              select value->>0, value->>1, value->>2 from json_each(?1)`,
        args: [JSON.stringify(rows)],
      });
    },
    windowMeans: (series, edges) => windowMeans(client, series, edges),
    async close() {
      client.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function windowMeans(
  client: Client,
  series: number,
  edges: readonly number[],
): Promise<(number | null)[]> {
  const windows = edges.slice(1).map((stop, i) => [edges[i], stop]);
  const { rows } = await client.execute({
    sql: `with w as materialized (select value->>0 a, value->>1 b from json_each(?1))
          select (select avg(value) from num where series = ?2 and time >= w.a and time < w.b) mean from w`,
    args: [JSON.stringify(windows), BigInt(series)],
  });
  return rows.map((row) => (row.mean === null ? null : Number(row.mean)));
}

/** An append-only table whose commits are on disk, as a journal made of libSQL would be. */
export async function openBareLog(dir: string) {
  const client = createClient({ url: `file:${join(dir, "log.db")}`, concurrency: 1 });
  await client.execute("pragma journal_mode = wal");
  await client.execute("pragma synchronous = full");
  await client.execute(
    "create table log(id integer primary key, received integer, device integer, topic text, payload blob) strict",
  );
  return {
    async append(
      rows: readonly (readonly [received: number, device: number, topic: string, payload: string])[],
    ) {
      await client.execute({
        sql: `insert into log(received, device, topic, payload)
              select value->>0, value->>1, value->>2, cast(value->>3 as blob) from json_each(?1)`,
        args: [JSON.stringify(rows)],
      });
    },
    close: () => client.close(),
  };
}

const batchRows = 5_000;

/** Rows a second into the bare table, series taking turns as devices do. */
export async function bareInsertRate(dir: string, series: number, seconds: number): Promise<number> {
  const table = await openBareTable(dir);
  const started = performance.now();
  const firstTime = Date.now() * 1000;
  let written = 0;
  while (performance.now() - started < seconds * 1000) {
    const rows = Array.from({ length: batchRows }, (_, i): [number, number, number] => {
      const n = written + i;
      return [n % series, firstTime + Math.floor(n / series) * 1000, (n % 1000) / 10];
    });
    await table.insert(rows);
    written += batchRows;
  }
  const rate = (written * 1000) / (performance.now() - started);
  await table.close();
  return rate;
}
