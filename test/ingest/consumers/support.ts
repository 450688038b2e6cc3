/** Consumers on a real journal and real metadata, with a store that takes every point. */

import { createCompiledRulesCache } from "../../../ingest/alerts/compiled-rules.js";
import {
  type AlertsConsumer,
  type AlertsOptions,
  startAlertsConsumer,
} from "../../../ingest/alerts/consumer.js";
import {
  type SeriesConsumer,
  type SeriesConsumerOptions,
  startSeriesConsumer,
} from "../../../ingest/consumers/series.js";
import { utcMicros } from "../../../ingest/decode/time.js";
import { createDirectory, type Directory } from "../../../ingest/directory/directory.js";
import { noIsolation } from "../../../ingest/followers/crash-isolation.js";
import type { FailedRecord } from "../../../ingest/followers/failures.js";
import { createMeter, type Meter } from "../../../ingest/meter.js";
import type { Journal } from "../../../store/journal/journal.js";
import { systemClock } from "../../../store/lib/clock.js";
import { earliestTime } from "../../../store/lib/time-range.js";
import { createAlertRule } from "../../../store/metadata/alerts/alert-rules.js";
import { type Db, openDb } from "../../../store/metadata/db/db.js";
import { createVault } from "../../../store/metadata/db/secrets.js";
import { createDevice, type DeviceStore } from "../../../store/metadata/devices/devices.js";
import { createDataPoint } from "../../../store/metadata/products/data-points.js";
import { createProduct } from "../../../store/metadata/products/products.js";
import { createTenant } from "../../../store/metadata/users/tenants.js";
import type { Point, SeriesStore } from "../../../store/series/series.js";
import { keep, openTestJournal } from "../../store/journal/support.js";
import { openTempDir, until } from "../../suite.js";

export interface ConsumerWorld {
  readonly dir: string;
  readonly store: DeviceStore;
  readonly journal: Journal;
  readonly directory: Directory;
  readonly meter: Meter;
  readonly tenant: number;
  readonly product: number;
  readonly device: number;
  /** Values of the points that were written, in order. */
  readonly values: readonly unknown[];
  readonly failed: readonly FailedRecord[];
  send(payload: object): Promise<number>;
  series(options?: Partial<SeriesConsumerOptions>): Promise<SeriesConsumer>;
  alerts(options?: Partial<AlertsOptions>): Promise<AlertsConsumer>;
  /** Waits until it has worked off the journal. */
  settled(consumer: { readonly settledID: number }): Promise<void>;
  close(): Promise<void>;
}

/** A time of this year fails in the service itself. */
export const failingYear = 1999;
/** A rule's condition fails at this value. */
export const failingValue = 13;

const local = (wallMs: number): number => {
  if (new Date(wallMs).getUTCFullYear() === failingYear) throw new RangeError("the year");
  return utcMicros(wallMs);
};

/** A device with the number `temp`, an upper limit of 50 and a rule that is true from 0 on. */
export async function openConsumerWorld(wrap: (db: Db) => Db = (db) => db): Promise<ConsumerWorld> {
  const dir = await openTempDir();
  const real = await openDb({ url: `file:${dir.path}/metadata.db`, shared: false });
  const db = wrap(real);
  const store = { db, vault: createVault(Buffer.alloc(32, 7)) };
  const tenant = (await createTenant(db, 0, "one")).id;
  const actor = { tenant, userIntID: null, username: null };
  const { id: product } = await createProduct(db, actor, 0, {
    productName: "p",
    description: null,
    cloudProtocol: 1,
  });
  const common = { pointDataType: 1, dataTransType: 1, dataPointName: "temp" };
  const point = await createDataPoint(db, actor, 0, product, "temp", { ...common, upperLimit: 50 });
  await createAlertRule(db, actor, 0, product, {
    alertName: "rule",
    alertContent: "",
    alertSeverity: 1,
    duration: 0,
    dataPointIntID: point.id,
    condition: "dataPoint >= 0",
  });
  const names = { deviceID: "d", deviceName: "d", deviceUsername: "d", token: "t" };
  const device = (await createDevice(store, actor, 0, { ...names, productIntID: product })).id;
  const journal = await openTestJournal(`${dir.path}/journal`);
  const directory = createDirectory(store, 100);
  const meter = createMeter();
  const values: unknown[] = [];
  const failed: FailedRecord[] = [];
  let checkpoint = 0;
  const series = {
    checkpoint: async () => checkpoint,
    write: async (points: readonly Point[], through: number) => {
      values.push(...points.map(({ value }) => value));
      checkpoint = Math.max(checkpoint, through);
      return [];
    },
  } as unknown as SeriesStore;
  const shared = {
    journal,
    directory,
    db,
    meter,
    ...systemClock,
    rules: () => ({ local, earliest: earliestTime, oldest: 0 }),
    narrow: noIsolation,
    isAside: () => false,
    onFailed: (one: FailedRecord) => void failed.push(one),
    onTrouble: () => undefined,
    onFailure: (error: Error) => {
      throw error;
    },
  };
  const evaluate = (operands: Float64Array): number => {
    if (operands[0] === failingValue) throw new TypeError("the value");
    return operands[0] === undefined || operands[0] < 0 ? 0 : 1;
  };
  return {
    dir: dir.path,
    store,
    journal,
    directory,
    meter,
    tenant,
    product,
    device,
    values,
    failed,
    send: (payload) => keep(journal, { device, tenant, payload: Buffer.from(JSON.stringify(payload)) }),
    series: (options = {}) =>
      startSeriesConsumer({ ...shared, series, pointsMax: 5000, lingerMs: 1, ...options }),
    alerts: (options = {}) =>
      startAlertsConsumer({
        ...shared,
        node: 0,
        offlineGraceMs: 60_000,
        onCarried: () => undefined,
        compiledRules: createCompiledRulesCache(
          db,
          () => ({ variables: ["dataPoint"], weight: 3, evaluate }),
          () => undefined,
        ),
        ...options,
      }),
    settled: async (consumer) => {
      await until(() => consumer.settledID >= journal.committedID, { what: "the journal to be worked off" });
    },
    close: async () => {
      await journal.close();
      await real.close();
      await dir.close();
    },
  };
}
