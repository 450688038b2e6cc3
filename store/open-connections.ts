import type { Db, Statement } from "./db.js";

/** A connection without an end in the journal. */
export interface OpenConnection {
  /** Journal id of its connect record. */
  readonly connection: number;
  readonly tenant: number;
  readonly device: number;
  readonly session: number;
  /** Seconds. */
  readonly keepAlive: number;
  readonly ip: string;
}

/** Of one node, oldest first. */
export function readOpenConnections(db: Db, node: number): Promise<OpenConnection[]> {
  return db.all(
    `select connection, tenant, device, session, keepAlive, ip from open_connection
     where node = ? order by connection`,
    [node],
  );
}

export function storeOpenConnection(node: number, one: OpenConnection): Statement {
  return {
    sql: `insert or replace into open_connection (node, connection, tenant, device, session, keepAlive, ip)
      values (?, ?, ?, ?, ?, ?, ?)`,
    args: [node, one.connection, one.tenant, one.device, one.session, one.keepAlive, one.ip],
  };
}

export function removeOpenConnection(node: number, connection: number): Statement {
  return {
    sql: "delete from open_connection where node = ? and connection = ?",
    args: [node, connection],
  };
}
