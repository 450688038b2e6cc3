/** What a new device is waited for: that it connects, that it says something, and that this becomes points. */
import { useSignal } from "@preact/signals";
import { call, type Page } from "../api.js";
import { t } from "../i18n.js";
import type { Explained } from "../messages/explained.js";
import { Refused } from "../messages/Refused.js";
import { QueryResult, useQuery } from "../query.js";
import { formatHref } from "../router.js";
import { Status } from "../shell/Status.js";
import { shownHeaders } from "../shown.js";
import { DeviceAccess } from "./DeviceAccess.js";
import type { DeviceRecord } from "./device-record.js";

interface EventRow {
  readonly id: number;
  readonly topic: string;
  readonly payload: string;
}

const lookMs = 500;

export function FirstMessage({ id }: { readonly id: string }) {
  const path = `/devices/${encodeURIComponent(id)}`;
  const device = useQuery(
    path,
    (signal) => call<DeviceRecord>("GET", path, { headers: shownHeaders(), signal }),
    lookMs,
  );
  const events = useQuery(
    `${path}/events`,
    (signal) => call<Page<EventRow>>("GET", `${path}/events`, { query: { _limit: 1 }, signal }),
    lookMs,
  );
  const newest = events.data?.items[0];
  const looked = useSignal(0);
  const explained = useQuery(`${path} explain ${newest?.id ?? ""} ${looked.value}`, async (signal) =>
    newest === undefined
      ? null
      : call<Explained>("POST", `${path}/explain`, { body: { eventID: newest.id }, signal }),
  );
  return (
    <QueryResult asked={device}>
      {(record) => (
        <div class="form">
          <ul class="steps" aria-live="polite">
            <Step isDone={record.deviceStatus === 1 || newest !== undefined} text={t("start.connected")} />
            <Step isDone={newest !== undefined} text={t("start.message")}>
              {newest !== undefined && (
                <>
                  <code>{newest.topic}</code> <code class="line">{newest.payload}</code>
                </>
              )}
            </Step>
            <Step isDone={(explained.data?.points.length ?? 0) > 0} text={t("start.points")}>
              {explained.data?.points.map(({ dataPointID, value }) => (
                <span key={dataPointID}>
                  <code>{dataPointID}</code> {String(value)}{" "}
                </span>
              ))}
            </Step>
          </ul>
          {explained.data !== undefined && explained.data !== null && (
            <Refused
              explained={explained.data}
              productID={record.productID}
              onMended={() => {
                looked.value++;
              }}
            />
          )}
          <p class="row">
            <a class="button" href={formatHref(`/devices/${record.id}`)}>
              {t("start.toDevice")}
            </a>
          </p>
          <DeviceAccess device={record} />
        </div>
      )}
    </QueryResult>
  );
}

function Step({
  isDone,
  text,
  children,
}: {
  readonly isDone: boolean;
  readonly text: string;
  readonly children?: preact.ComponentChildren;
}) {
  return (
    <li class="row">
      <Status tone={isDone ? "good" : "idle"} word={isDone ? `${text} ✓` : text} /> {children}
    </li>
  );
}
