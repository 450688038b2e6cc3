/** The newest value of each data point, live, and the last day as lines. */
import { useSignal, useSignalEffect } from "@preact/signals";
import { call, type Page } from "../api.js";
import type { OriginalData } from "../charts/data.js";
import { numberText } from "../charts/numbers.js";
import { wallText } from "../charts/zone.js";
import { t } from "../i18n.js";
import { type NewestPoint, useLiveValues } from "../live/live.js";
import { missedAt } from "../live/missed.js";
import { QueryResult, useQuery } from "../query.js";
import { Status } from "../shell/Status.js";
import { shownZone } from "../shown.js";
import type { DeviceRecord } from "./device-record.js";
import { RawChart } from "./RawChart.js";

interface DataPoint {
  readonly id: number;
  readonly dataPointID: string;
  readonly dataPointName: string;
  readonly unitSymbol: string | null;
}

const pointsShown = 100;
const dayMs = 86_400_000;
/** Polls at this interval while no live events arrive. */
const askEveryMs = 5_000;

interface DeviceValuesProps {
  readonly device: Pick<DeviceRecord, "deviceID" | "productID">;
}

export function DeviceValues({ device }: DeviceValuesProps) {
  const { deviceID, productID } = device;
  const points = useQuery(`points ${productID}`, (signal) =>
    call<Page<DataPoint>>("GET", "/data_points", { query: { productID, _limit: pointsShown }, signal }),
  );
  const live = useLiveValues(deviceID);
  const newest = useQuery(
    // Fetches again what has come between the query and the begin of the stream.
    `newest ${deviceID} ${live.isConnected}`,
    (signal) =>
      call<readonly OriginalData[]>("GET", "/original_data", {
        query: { deviceID, limit: 1, timeFormat: "ms" },
        signal,
      }),
    live.isConnected ? undefined : askEveryMs,
  );
  const now = useSignal(Date.now());
  useSignalEffect(() => {
    if (missedAt.value > 0) now.value = Date.now();
  });

  return (
    <QueryResult asked={points}>
      {({ items }) =>
        items.length === 0 ? (
          <p class="notice">{t("device.noPoints")}</p>
        ) : (
          <>
            <p>
              <Status
                tone={live.isConnected ? "good" : "warn"}
                word={t(live.isConnected ? "live.on" : "live.off")}
              />
            </p>
            <dl class="values">
              {items.map((point) => (
                <Value
                  key={point.id}
                  point={point}
                  newest={chooseNewer(live.values.get(point.dataPointID), findStored(newest.data, point.id))}
                />
              ))}
            </dl>
            <RawChart
              device={deviceID}
              units={new Map(items.map(({ id, unitSymbol }) => [id, unitSymbol]))}
              zone={shownZone()}
              from={now.value - dayMs}
              to={now.value}
              onRange={() => undefined}
            />
          </>
        )
      }
    </QueryResult>
  );
}

function findStored(rows: readonly OriginalData[] | undefined, id: number): NewestPoint | undefined {
  const { time = [], value = [] } =
    rows?.find(({ dataPointIntID }) => dataPointIntID === id)?.originalData ?? {};
  const at = time.at(-1);
  return at === undefined ? undefined : { time: at, value: value.at(-1) };
}

const chooseNewer = (
  one: NewestPoint | undefined,
  other: NewestPoint | undefined,
): NewestPoint | undefined =>
  one === undefined || (other !== undefined && other.time > one.time) ? other : one;

function Value({ point, newest }: { readonly point: DataPoint; readonly newest: NewestPoint | undefined }) {
  return (
    <div>
      <dt class="muted">{point.dataPointName}</dt>
      <dd>
        <span key={newest?.time} class="big">
          {typeof newest?.value === "number" ? numberText(newest.value) : formatDeviceValue(newest?.value)}
        </span>{" "}
        {point.unitSymbol}
      </dd>
      <dd class="muted mono">{newest === undefined ? "" : wallText(shownZone(), newest.time)}</dd>
    </div>
  );
}

function formatDeviceValue(value: unknown): string {
  if (value === undefined || value === null) return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
