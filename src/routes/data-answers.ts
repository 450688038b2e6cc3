/** Shared parts of answers with points: the queries by device, columns of times, and the budget of the bytes held. */
import { answerValuesMax } from "../../query/metrics.js";
import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import type { ProductModel } from "../devices/catalog.js";
import { invalid } from "../http/errors.js";
import { Column } from "../http/json-stream.js";
import type { Reservation } from "../http/response-budget.js";
import type { ChartRequest } from "./data-query.js";
import type { AppDeps } from "./deps.js";

/** Series that one answer reads at once: as many as the engine has readers, and some that wait. */
export const queriesAtOnce = 4;
/** Bytes that the texts of an answer may hold: each series has a share, beyond which it may hold one longer point. */
export const answerTexts = { partsBytes: 32 << 20, bytesMax: 64 << 20 } as const;

/** The queries for each device, in the order of the devices. */
export async function createSeriesQueries<Question extends object>(
  { catalog }: AppDeps,
  { devices }: ChartRequest,
  ofModel: (model: ProductModel) => readonly Question[],
): Promise<(Question & { readonly device: DeviceRef })[]> {
  const models = new Map<number, readonly Question[]>();
  for (const { productIntID } of devices) {
    if (!models.has(productIntID)) models.set(productIntID, ofModel(await catalog.model(productIntID)));
  }
  return devices.flatMap((device) =>
    (models.get(device.productIntID) ?? []).map((question) => ({ ...question, device })),
  );
}

export function showOwner({ id, deviceID }: DeviceRef, { several }: ChartRequest): object {
  return several ? { deviceID, deviceIntID: id } : {};
}

/** Formats times when they are written. */
export function timeColumn(times: ArrayLike<number>, write: (time: number) => string | number): Column {
  const all = times instanceof Float64Array ? times : Float64Array.from(times);
  return new Column(all.length, (from, to) => Array.from(all.subarray(from, to), write), all);
}

export const formOfTimes = ({ format, timezone }: ChartRequest): string => `${format} ${timezone}`;

/** A time and a value. */
const bytesOfValue = 16;

/** @throws ApiError PARAMETER_INVALID once the values or texts of an answer are too many, TOO_MANY_REQUESTS */
export type QueryBudget = (values: number, textBytes: number) => Promise<void>;

/**
 * Counts the values of an answer and the bytes of its texts, and waits until they are reserved.
 * @throws ApiError PARAMETER_INVALID once they are too many, TOO_MANY_REQUESTS
 */
export function createBudget(hold: Reservation | null): QueryBudget {
  const total = { values: 0, textBytes: 0 };
  return async (values, textBytes) => {
    total.values += values;
    total.textBytes += textBytes;
    if (total.values > answerValuesMax) {
      throw invalid({ limit: `an answer holds at most ${answerValuesMax} values: shorten the range` });
    }
    if (total.textBytes > answerTexts.bytesMax) {
      const told = `at most ${answerTexts.bytesMax >> 20} MiB of texts: ask for fewer devices or data points`;
      throw invalid({ limit: `an answer holds ${told}` });
    }
    await hold?.take(values * bytesOfValue + textBytes);
  };
}
