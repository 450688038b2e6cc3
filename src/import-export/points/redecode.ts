import { type Redecoded, redecode } from "../../../ingest/consumers/redecode.js";
import type { DecodeRules } from "../../../ingest/decode/points.js";
import type { Directory } from "../../../ingest/directory/directory.js";
import type { OnFailed } from "../../../ingest/followers/failures.js";
import { addCount, type Meter } from "../../../ingest/meter.js";
import type { EventLogReading } from "../../../store/events/events.js";
import type { Db } from "../../../store/metadata/db/db.js";
import { findDevicesByName } from "../../../store/metadata/devices/history-devices.js";
import { listProductDataPoints } from "../../../store/metadata/products/data-points.js";
import { quarantine } from "../../../store/metadata/quarantine.js";
import type { Point, SeriesStore } from "../../../store/series/series.js";
import type { DiskSpace } from "../../http/disk-space.js";
import { TaskFailure, type TaskKind } from "../../tasks/task-kind.js";
import { untilServed } from "../../tasks/until-served.js";
import type { HistoryGate } from "./gate.js";

export const historyRedecode = "redecode";

/** The task's input, stored as JSON. Receipt of the messages in microseconds. */
export interface RedecodeInput {
  readonly device: number;
  readonly start: number;
  readonly stop: number;
  /** Only counts what would be written; absent in tasks of earlier versions. */
  readonly dryRun?: boolean;
}

export interface RedecodeKindDeps {
  readonly db: Db;
  readonly events: EventLogReading;
  readonly series: SeriesStore;
  readonly directory: Directory;
  readonly gate: HistoryGate;
  readonly space: Pick<DiskSpace, "check">;
  readonly meter: Pick<Meter, "refused">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly rules: () => Omit<DecodeRules, "asOfReceipt">;
  readonly onFailed: OnFailed;
  /** Whether the message is a dead letter, which must not be decoded. */
  readonly isAside: (id: number) => boolean;
}

const retryFirstMs = 500;

/** Writes only missing points, so that it simply starts over after a restart. */
export function redecodeKind(deps: RedecodeKindDeps): TaskKind {
  const { events, series, directory, gate, meter, now, rules, onFailed, isAside, db } = deps;
  return {
    resumes: true,
    lane: "history",
    run: async ({ task, signal, progress }) => {
      const { device: id, start, stop, dryRun = false } = task.input as RedecodeInput;
      let reachedMs = performance.now();
      const attempt = async () => {
        const device = await directory.get(id);
        if (device === undefined || device.device.tenant !== task.tenant) {
          throw new TaskFailure("the device is gone");
        }
        const owner = { deviceID: device.device.deviceID, productIntID: device.device.productIntID };
        let checked = -1;
        let fields: ReadonlySet<string> = new Set();

        /** Points of anything deleted meanwhile must not come back: its name may have a successor. */
        async function check(): Promise<void> {
          const now = gate.generation(task.tenant);
          if (checked === now) return;
          const found = await findDevicesByName(db, task.tenant, [owner.deviceID]);
          if (found.get(owner.deviceID)?.id !== id) throw new TaskFailure("the device is gone");
          const points = await listProductDataPoints(db, owner.productIntID);
          fields = new Set(points.map((point) => point.field));
          checked = now;
        }

        return redecode({
          events,
          series,
          device,
          start,
          stop,
          rules,
          onFailed,
          isAside,
          dryRun,
          signal,
          refused: async (points) => {
            addCount(meter.refused, "series", points.length);
            await quarantine(db, now(), points, null);
          },
          guarded: (points, write) =>
            gate.run(async () => {
              if (!dryRun) await deps.space.check();
              await check();
              await write(points.filter((point: Point) => fields.has(point.series.field)));
            }),
          reached: async (receivedAt, counts) => {
            if (performance.now() - reachedMs < 1000) return;
            reachedMs = performance.now();
            await progress((100 * (stop - receivedAt)) / (stop - start), formatProgress(counts, dryRun));
          },
        });
      };
      return { msg: formatProgress(await untilServed(signal, attempt, retryFirstMs), dryRun) };
    },
  };
}

function formatProgress(
  { messages, points, changed, unchanged, refused }: Redecoded,
  dryRun: boolean,
): object {
  const written = { messages_num: messages, points_num: points };
  if (!dryRun) return written;
  return { ...written, changed_num: changed, unchanged_num: unchanged, refused: Object.fromEntries(refused) };
}
