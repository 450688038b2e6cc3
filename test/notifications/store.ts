/** Notifications in a metadata store of their own, without a service. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { sampleMessage } from "../../src/notifications/alert-message.js";
import { createLogger } from "../../src/observability/log.js";
import { SqlError } from "../../store/metadata/db/connection/connection.js";
import { type Db, openDb } from "../../store/metadata/db/db.js";
import { createVault } from "../../store/metadata/db/secrets.js";
import { toStoreError } from "../../store/metadata/db/sql-errors.js";
import { type AlertRouteInput, createAlertRoute } from "../../store/metadata/notifications/alert-routes.js";
import { createContactPoint } from "../../store/metadata/notifications/contact-points.js";
import { notifyRoute } from "../../store/metadata/notifications/notifications.js";
import { createStillClock } from "../clock.js";
import { unique } from "../factories.js";
import { withTempDir } from "../suite.js";

type NewContactPoint = Parameters<typeof createContactPoint>[3];

export type NotificationStore = Awaited<ReturnType<typeof openStore>>;

export const withStore = (use: (store: NotificationStore) => Promise<void>): Promise<void> =>
  withTempDir(async (dir) => {
    const store = await openStore(dir);
    try {
      await use(store);
    } finally {
      await store.db.close();
    }
  });

async function openStore(dir: string) {
  const url = pathToFileURL(join(dir, "metadata.db")).href;
  const db = await openDb({ url, shared: false });
  const vault = createVault(Buffer.alloc(32));
  const clock = createStillClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLogger(
    "info",
    (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
    clock.now,
  );
  const actorOf = (tenant: number) => ({ tenant, userIntID: null, username: null });

  async function makeTenant(): Promise<number> {
    const name = unique("tenant");
    const [made] = await db.write([
      { sql: "insert into tenant (tenantID, tenantName, createAt) values (?1, ?1, 0)", args: [name] },
    ]);
    return Number(made?.lastInsertRowid);
  }

  async function makePoint(tenant: number, fields: Partial<NewContactPoint> = {}): Promise<number> {
    const input: NewContactPoint = {
      name: unique("contact"),
      type: "webhook",
      enable: 1,
      language: "en",
      settings: {},
      subjectTemplate: null,
      bodyTemplate: null,
      secrets: { secret: "a secret of this contact point" },
      ...fields,
    };
    return (await createContactPoint({ db, vault }, actorOf(tenant), clock.now(), input)).id;
  }

  async function makeRoute(
    tenant: number,
    contactPoints: readonly number[],
    fields: Partial<AlertRouteInput> = {},
  ): Promise<number> {
    const input: AlertRouteInput = {
      name: unique("route"),
      enable: 1,
      severities: null,
      alertName: null,
      productIntID: null,
      groupIntID: null,
      deviceIntID: null,
      groupBy: ["device"],
      wait: 0,
      groupInterval: 10,
      repeatInterval: 0,
      sendResolved: 1,
      muteWindows: [],
      timezone: null,
      contactPoints,
      ...fields,
    };
    return (await createAlertRoute(db, actorOf(tenant), clock.now(), input)).id;
  }

  /** A message that waits for each contact point of the route. */
  const notify = (tenant: number, routeIntID: number): Promise<unknown> => {
    const message = sampleMessage("alert", "UTC", clock.now());
    const about = { tenant, routeIntID, routeName: "r", kind: "alert", alertCount: 1, message } as const;
    return db.write([notifyRoute(clock.now(), about, { sql: "1" })]);
  };

  /** The log of a tenant, oldest first. */
  const logOf = (tenant: number) =>
    db.all<{ status: string; answer: string | null; attempts: number; nextAt: number | null }>(
      "select status, answer, attempts, nextAt from notification where tenant = ? order by id",
      [tenant],
    );

  return { url, db, vault, clock, log, lines, makeTenant, makePoint, makeRoute, notify, logOf };
}

/** The same store, of which nothing can be written while `isFull`. */
export function filling(db: Db) {
  const disk = { isFull: false };
  const write: Db["write"] = async (statements) => {
    if (disk.isFull) throw toStoreError(new SqlError("database or disk is full", "SQLITE_FULL"));
    return db.write(statements);
  };
  return { disk, db: { ...db, write } };
}
