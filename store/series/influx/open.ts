/** The series store on InfluxDB 2: the measurement is the productID, the tag `device`, and each data point a field. */

import { shardOfID } from "../../journal/shard-ids.js";
import type { Point, RefusedPoint, SeriesStore } from "../series.js";
import { type CheckpointPort, createCheckpointTrackers } from "./checkpoint.js";
import { createInfluxClient } from "./client.js";
import { stillHolds } from "./conflict-look.js";
import { type ConflictsOptions, openConflicts } from "./conflicts.js";
import type { InfluxState } from "./health.js";
import type { InfluxLedger } from "./ledger.js";
import { encodeBatchBody, encodeBody, encodeLines } from "./lines.js";
import { pointsOfBatch, refusedIndexes } from "./point-batch.js";
import { createInfluxReader } from "./queries.js";
import { removeInfluxDevices, whichHavePoints } from "./removal.js";
import { createBucketRetention } from "./retention.js";
import { writeAroundBadLines } from "./write-around-bad-lines.js";

export interface InfluxSeriesOptions {
  readonly url: string;
  readonly token: string;
  readonly org: string;
  readonly bucket: string;
  /**
   * The process's first shard, 0 to 999. A shard's number is in the last three digits of the nanoseconds of the points
   * that its journal stamps.
   */
  readonly firstShard: number;
  /** Returns the port of a shard's journal. */
  readonly checkpoint: (shard: number) => CheckpointPort;
  readonly ledger: InfluxLedger;
  /** Called once each time that the server begins or ceases to serve. */
  readonly onState?: (state: InfluxState) => void;
  /** As the client has it. */
  readonly onBucketFound?: (id: string) => Promise<void>;
  /** The bucket has been made; `again`: it was gone, with its points. */
  readonly onBucketMade?: (again: boolean) => void;
  /** Something else has written a field with another type, or no longer has; `all`: every such field now. */
  readonly onConflict?: ConflictsOptions["onChange"];
  /** A request is given up after so long without an answer; default 30,000. */
  readonly timeoutMs?: number;
  /** Requests under way at once; default 16. */
  readonly connectionsMax?: number;
  /** How often the server is probed, also when nobody writes or asks; default 10,000. */
  readonly probeMs?: number;
}

/** Points that are written line by line together: what holds the thread for a few milliseconds. */
const settledAtOnce = 5000;

const nobody = (): void => {};

/**
 * Opens even while the server is away: calls then reject with UNAVAILABLE until it is back. A missing bucket is made,
 * at open or by the first call, if the token may; but not in place of one that somebody else had made. Queries about
 * a field that something else has written with another type reject with MISMATCH.
 */
export async function openInfluxSeriesStore(options: InfluxSeriesOptions): Promise<SeriesStore> {
  const { bucket, firstShard, ledger, timeoutMs = 30_000, connectionsMax = 16, probeMs = 10_000 } = options;
  const { onState = nobody, onBucketMade = nobody, onConflict = nobody } = options;
  const conflicts = await openConflicts({
    bucket,
    ledger,
    onChange: onConflict,
    shardMicros: () => client.shardMicros,
  });
  const client = createInfluxClient({
    ...options,
    timeoutMs,
    connectionsMax,
    onState,
    onBucketFound: options.onBucketFound ?? null,
    onBucketMade: async (again) => {
      onBucketMade(again);
      await conflicts.cleared("bucket");
    },
  });
  const closed = new AbortController();
  const removeOld = createBucketRetention(client, closed.signal);
  const trackers = createCheckpointTrackers(options.checkpoint);
  /** Whether the server has taken all of a body of lines; null is one that it cannot hold. */
  const isTaken = async (body: Buffer | null): Promise<boolean> =>
    body !== null && (body.length === 0 || (await client.write(body)) === undefined);
  /** Some of the points will never be taken: writing them line by line shows which. Writing again changes nothing. */
  const settle = async (points: readonly Point[], shard = firstShard): Promise<RefusedPoint[]> => {
    const refused: RefusedPoint[] = [];
    for (let from = 0; from < points.length; from += settledAtOnce) {
      const encoded = encodeLines(points.slice(from, from + settledAtOnce), shard);
      refused.push(...encoded.refused);
      refused.push(...(await writeAroundBadLines(client.write, encoded.lines, shard)));
    }
    return refused;
  };
  const createReader = (signal: AbortSignal | null) =>
    createInfluxReader({ client, bucket, conflicts }, signal);
  // The server is away: each call will say so.
  await client.probe().then(client.look).catch(nobody);
  let isLooking = false;
  /** While one look waits for the server, no second one begins. */
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    try {
      await client.probe();
      await conflicts.look((conflict) => stillHolds(client, bucket, conflict));
    } finally {
      isLooking = false;
    }
  };
  const looking = setInterval(() => void look().catch(nobody), probeMs).unref();

  return {
    checkpoint: (shard = firstShard) => trackers.of(shard).settled(),
    async write(points, through, stampedBy = firstShard) {
      const shard = through > 0 ? shardOfID(through) : stampedBy;
      const tracker = trackers.of(shard);
      if (through > 0) tracker.begin(through);
      let succeeded = false;
      try {
        const refused = (await isTaken(await encodeBody(points, shard))) ? [] : await settle(points, shard);
        await conflicts.written(points, refused);
        succeeded = true;
        return refused;
      } finally {
        if (through > 0) tracker.end(through, succeeded);
      }
    },
    async writeBatch(batch) {
      const isWhole = await isTaken(encodeBatchBody(batch));
      if (isWhole && !conflicts.areKnown) return [];
      const points = pointsOfBatch(batch);
      const refused = isWhole ? [] : await settle(points);
      await conflicts.written(points, refused);
      return refusedIndexes(points, refused);
    },
    flush: () => trackers.persist(),
    letGo: trackers.letGo,
    ...createReader(null),
    under: createReader,
    whichHavePoints: (devices) => whichHavePoints(client, bucket, devices),
    removeDevices: (devices) => removeInfluxDevices(client, devices),
    // InfluxDB cannot delete by field: the points stay, unseen, until retention or the device's deletion.
    removeFields: async () => {},
    // Not by the bucket's own retention: the bucket may be the operator's, whose rules we must not change.
    async removeBefore(time) {
      await removeOld(time);
      await conflicts.cleared("retention", time);
      return null;
    },
    async close() {
      closed.abort();
      clearInterval(looking);
      try {
        await trackers.persist();
      } finally {
        trackers.close();
        client.close();
      }
    },
  };
}
