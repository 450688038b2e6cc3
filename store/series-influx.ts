/** The series store on InfluxDB 2: measurement productID, tag `device`, one field a data point. */
import { StoreError } from "./errors.js";
import { bodyOf, pointsOfBatch, refusedPlaces } from "./influx/batch.js";
import { type CheckpointPort, createCheckpointTracker } from "./influx/checkpoint.js";
import { createInfluxClient } from "./influx/client.js";
import { aggregateArithmetic, readExtremes } from "./influx/computing.js";
import { deletePredicate, deleteRange } from "./influx/flux.js";
import { encodeLines, timeMax } from "./influx/lines.js";
import { aggregateWindows, latestPoints, readColumns } from "./influx/reading.js";
import { createRetention } from "./influx/retention.js";
import { scanColumns } from "./influx/scan.js";
import { settleLines } from "./influx/settle.js";
import type { SeriesStore } from "./series.js";

export interface InfluxSeriesOptions {
  readonly url: string;
  readonly token: string;
  readonly org: string;
  readonly bucket: string;
  /** 0 to 999: the last three digits of the nanoseconds of the points that this node stamps. */
  readonly nodeNumber: number;
  readonly checkpoint: CheckpointPort;
  /** Told each time that the server cannot serve. */
  readonly onUnavailable?: (error: Error) => void;
  /** A request without an answer for so long is given up; default 30,000. */
  readonly timeoutMs?: number;
  /** Requests under way at once; default 16. */
  readonly connectionsMax?: number;
}

/**
 * Opens even while the server is away: calls then reject with UNAVAILABLE until it is back. A bucket that is
 * missing is made, at open or by the first write, where the token may.
 */
export async function openInfluxSeriesStore(options: InfluxSeriesOptions): Promise<SeriesStore> {
  const { bucket, nodeNumber, timeoutMs = 30_000, connectionsMax = 16 } = options;
  const client = createInfluxClient({ ...options, timeoutMs, connectionsMax });
  const closed = new AbortController();
  const removeBefore = createRetention(client, closed.signal);
  const tracker = createCheckpointTracker(options.checkpoint);
  const watched = async <T>(call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (error) {
      if (error instanceof StoreError && error.code === "UNAVAILABLE") options.onUnavailable?.(error);
      throw error;
    }
  };
  await watched(client.ensureBucket()).catch(() => {}); // away: each call will say so

  return {
    checkpoint: () => tracker.settled(),
    async write(points, through) {
      if (through > 0) tracker.begin(through);
      let succeeded = false;
      try {
        const { lines, refused } = encodeLines(points, nodeNumber);
        refused.push(...(await watched(settleLines(client.write, lines, nodeNumber))));
        succeeded = true;
        return refused;
      } finally {
        if (through > 0) tracker.end(through, succeeded);
      }
    },
    async writeBatch(batch) {
      const body = bodyOf(batch);
      if (body === "") return [];
      if (body !== null && (await watched(client.write(body))) === undefined) return [];
      // Some of the points will never be taken: point by point it is found out which. Writing again changes nothing.
      const points = pointsOfBatch(batch);
      const { lines, refused } = encodeLines(points, nodeNumber);
      refused.push(...(await watched(settleLines(client.write, lines, nodeNumber))));
      return refusedPlaces(points, refused);
    },
    flush: () => tracker.persist(),
    read: (series, range) => watched(readColumns(client, bucket, series, range)),
    scan: (series, range, pointsMax) => scanColumns(client, bucket, series, range, pointsMax),
    aggregate: (query) => watched(aggregateWindows(client, bucket, query)),
    aggregateArithmetic: (query) => watched(aggregateArithmetic(client, bucket, query)),
    extremes: (query) => watched(readExtremes(client, bucket, query)),
    latest: (series) => watched(latestPoints(client, bucket, series)),
    removeDevice: ({ productID, deviceID }) =>
      watched(client.remove(deleteRange(timeMax + 1), deletePredicate(productID, deviceID))),
    // InfluxDB cannot delete by field: the points stay unseen until retention or the device's deletion.
    removeField: async () => {},
    // Not the bucket's own retention: the bucket may be the operator's, with rules that are not ours to change.
    removeBefore: (time) => watched(removeBefore(time)),
    async close() {
      closed.abort();
      try {
        await tracker.persist();
      } finally {
        tracker.close();
        client.close();
      }
    },
  };
}
