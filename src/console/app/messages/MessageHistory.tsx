/** Kept messages, newest first: filtered, over a range of time, page by page; each can be taken apart. */
import { useEffect } from "preact/hooks";
import { call, type Page } from "../api.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { TimeInput } from "../range/RangePicker.js";
import { query, setQuery } from "../router.js";
import { me } from "../session.js";
import { Pager } from "../shell/Pager.js";
import { MessageDetail } from "./MessageDetail.js";
import { MessageRow } from "./MessageRow.js";
import { fetchOwner, type Owner } from "./owner.js";

interface EventRow {
  readonly id: number;
  readonly deviceID: string | null;
  readonly deviceName?: string | null;
  readonly topic: string;
  readonly payload: string;
  /** Milliseconds since 1970. */
  readonly msgTime: number;
  readonly refused?: true;
}

interface MessageHistoryProps {
  /** Shows the messages of one device; null: of all. */
  readonly device: Owner | null;
  /** The newest page is asked for again after so long; absent: it stands. */
  readonly everyMs?: number;
  /** Receives the newest message, for callers that show it first. */
  onNewest?(row: EventRow): void;
}

const rowsShown = 50;

export function MessageHistory({ device, everyMs, onNewest }: MessageHistoryProps) {
  const { topic = "", payload = "", name = "", start = "", end = "", page = "1" } = query.value;
  const at = Math.max(1, Math.trunc(Number(page)) || 1);
  const path = device === null ? "/device_events" : `/devices/${device.id}/events`;
  const asked = {
    _limit: rowsShown,
    _page: at,
    topic_like: topic,
    payload_like: payload,
    ...(device === null ? { deviceName_like: name } : {}),
    startTime: start,
    endTime: end,
  };
  const list = useQuery(
    `${path} ${JSON.stringify(asked)}`,
    (signal) => call<Page<EventRow>>("GET", path, { query: asked, headers: { "Time-Format": "ms" }, signal }),
    at === 1 && end === "" ? everyMs : undefined,
  );
  const newest = list.data?.items[0];
  useEffect(() => {
    if (newest !== undefined) onNewest?.(newest);
  }, [newest?.id]);
  const isFiltered = [topic, payload, name, start, end].some((one) => one !== "");
  return (
    <>
      <Filters withName={device === null} />
      <QueryResult asked={list}>
        {({ items, meta }) => (
          <>
            {items.length === 0 ? (
              <p class="notice">{t(isFiltered || at > 1 ? "list.nothing" : "device.noMessages")}</p>
            ) : (
              <ul class="messages">
                {items.map((row) => (
                  <Message key={row.id} row={row} device={device} />
                ))}
              </ul>
            )}
            <Pager
              page={meta.page}
              pages={Math.max(1, Math.ceil(meta.count / rowsShown))}
              count={meta.count}
              before={t("message.newer")}
              after={t("message.older")}
              onPage={(next) => goToPage(next, newest)}
            />
          </>
        )}
      </QueryResult>
    </>
  );
}

interface MessageProps {
  readonly row: EventRow;
  readonly device: MessageHistoryProps["device"];
}

function Message({ row, device }: MessageProps) {
  const { id, msgTime, topic, payload, deviceName, refused } = row;
  return (
    <MessageRow
      time={msgTime}
      detail={() => (
        <Detail row={row} device={device} id={id} payload={payload} isRefused={refused === true} />
      )}
    >
      {device === null && <span class="line name">{deviceName ?? row.deviceID}</span>}{" "}
      <code class="topic">{topic}</code> <code class="line payload">{payload}</code>
    </MessageRow>
  );
}

interface DetailProps extends MessageProps {
  readonly id: number;
  readonly payload: string;
  readonly isRefused: boolean;
}

function Detail({ row, device, id, payload, isRefused }: DetailProps) {
  const found = useQuery(
    `device of ${row.deviceID} ${device?.id}`,
    async (signal) => device ?? fetchOwner(row.deviceID ?? "", signal),
  );
  return (
    <QueryResult asked={found}>
      {(owner) => (
        <MessageDetail
          device={owner.id}
          productID={owner.productID}
          eventID={id}
          payload={payload}
          isRefused={isRefused}
        />
      )}
    </QueryResult>
  );
}

function Filters({ withName }: { readonly withName: boolean }) {
  const { topic = "", payload = "", name = "", start = "", end = "" } = query.value;
  const fields = [
    ...(withName ? ([["name", name, t("explore.device")]] as const) : []),
    ["topic", topic, t("command.topic")],
    ["payload", payload, t("command.payload")],
  ] as const;
  const zone = me.value?.timezone ?? "UTC";
  const hasRange = start !== "" || end !== "";
  const now = Date.now();
  const set = (changes: Readonly<Record<string, string | undefined>>): void =>
    setQuery({ ...changes, page: undefined });
  return (
    <search class="row tools">
      {fields.map(([key, text, label]) => (
        <label key={key} class="row tight named">
          <span class="muted">{label}</span>
          <input
            class="input filter"
            type="search"
            value={text}
            onInput={(event) => set({ [key]: event.currentTarget.value })}
          />
        </label>
      ))}
      {hasRange ? (
        <>
          <TimeInput
            label={t("range.from")}
            zone={zone}
            time={start === "" ? now - dayMs : Number(start)}
            onTime={(time) => set({ start: String(time) })}
          />
          <TimeInput
            label={t("range.to")}
            zone={zone}
            time={end === "" ? now : Number(end)}
            onTime={(time) => set({ end: String(time) })}
          />
          <button
            type="button"
            class="button quiet"
            onClick={() => set({ start: undefined, end: undefined })}
          >
            {t("message.anyTime")}
          </button>
        </>
      ) : (
        <button
          type="button"
          class="button quiet"
          onClick={() => set({ start: String(now - dayMs), end: String(now) })}
        >
          {t("message.timeRange")}
        </button>
      )}
    </search>
  );
}

const dayMs = 86_400_000;

/** New messages move no page: the second one fixes where the first began. */
function goToPage(page: number, newest: EventRow | undefined): void {
  const { end = "" } = query.value;
  const fixed = end === "" && newest !== undefined ? { end: String(Math.floor(newest.msgTime) + 1) } : {};
  setQuery({ ...fixed, page: page === 1 ? undefined : String(page) }, { replace: false });
}
