/** Messages of all devices as they come, with what became of each. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../i18n.js";
import { type LiveMessage, useLive } from "../live/live.js";
import { formatHref, query, setQuery } from "../router.js";
import { Status } from "../shell/Status.js";
import { MessageDetail } from "./MessageDetail.js";
import { MessageRow } from "./MessageRow.js";

interface Heard {
  readonly items: readonly LiveMessage[];
  readonly skipped: number;
  /** Since it is paused. */
  readonly held: number;
  readonly isConnected: boolean;
}

const kept = 200;

export function Firehose() {
  const isPaused = useSignal(false);
  const { find = "", trouble = "" } = query.value;
  const heard = useHeard(isPaused.value);
  const words = find.toLowerCase();
  const shown = heard.items.filter(
    ({ deviceID, deviceName, topic, refused }) =>
      (words === "" ||
        [deviceID, deviceName ?? "", topic].some((one) => one.toLowerCase().includes(words))) &&
      (trouble === "" || refused.length > 0),
  );
  return (
    <section>
      <div class="row spread tools heard">
        <span class="row grow">
          <Status
            tone={heard.isConnected ? "good" : "warn"}
            word={t(heard.isConnected ? "live.on" : "live.off")}
          />
          <input
            class="input search"
            type="search"
            placeholder={t("message.find")}
            aria-label={t("message.find")}
            value={find}
            onInput={(event) => setQuery({ find: event.currentTarget.value })}
          />
          <label class="row tight">
            <input
              type="checkbox"
              checked={trouble !== ""}
              onChange={(event) => setQuery({ trouble: event.currentTarget.checked ? "1" : undefined })}
            />
            {t("message.onlyRefused")}
          </label>
        </span>
        <button
          type="button"
          class="button"
          aria-pressed={isPaused.value}
          onClick={() => {
            isPaused.value = !isPaused.value;
          }}
        >
          {isPaused.value ? t("message.resume", { count: heard.held }) : t("live.pause")}
        </button>
      </div>
      {heard.skipped > 0 && <p class="muted hint">{t("message.skipped", { count: heard.skipped })}</p>}
      {shown.length === 0 ? (
        <p class="notice">{t(heard.items.length === 0 ? "message.waiting" : "list.nothing")}</p>
      ) : (
        <ul class="messages">
          {shown.map((one) => (
            <Row key={`${one.deviceIntID} ${one.eventID}`} message={one} />
          ))}
        </ul>
      )}
    </section>
  );
}

function Row({ message }: { readonly message: LiveMessage }) {
  const { deviceIntID, deviceID, deviceName, eventID, topic, bytes, time, points, refused } = message;
  return (
    <MessageRow
      time={time}
      detail={() => (
        <MessageDetail
          device={deviceIntID}
          eventID={eventID}
          isRefused={refused.some(({ reason }) => reason === "policy")}
        />
      )}
    >
      <a href={formatHref(`/devices/${deviceIntID}`, { tab: "messages" })} class="line name">
        {deviceName ?? deviceID}
      </a>{" "}
      <code class="topic">{topic}</code>{" "}
      <span class="muted sizes">
        <span>{t("message.size", { bytes })}</span> <span>{t("message.points", { points })}</span>
      </span>{" "}
      {refused.map(({ reason, key, count }) => (
        <Status
          key={`${reason} ${key}`}
          tone="warn"
          word={[reason, ...(key === undefined ? [] : [key]), ...(count > 1 ? [`× ${count}`] : [])].join(" ")}
        />
      ))}
    </MessageRow>
  );
}

/** The newest messages; while it is paused, what comes waits, and is shown when it goes on. */
function useHeard(isPaused: boolean): Heard {
  const state = useSignal<Omit<Heard, "held" | "isConnected">>({ items: [], skipped: 0 });
  const waiting = useSignal<{ readonly items: readonly LiveMessage[]; readonly count: number }>(nothing);
  const withNew = (items: readonly LiveMessage[], told: readonly LiveMessage[]): LiveMessage[] =>
    [...told.toReversed(), ...items].slice(0, kept);
  const isConnected = useLive({
    devices: null,
    onMessages: (told) => {
      if (isPaused)
        waiting.value = {
          items: withNew(waiting.value.items, told),
          count: waiting.value.count + told.length,
        };
      else state.value = { ...state.value, items: withNew(state.value.items, told) };
    },
    onSkipped: (count) => {
      state.value = { ...state.value, skipped: state.value.skipped + count };
    },
  });
  useEffect(() => {
    if (isPaused || waiting.value === nothing) return;
    state.value = {
      ...state.value,
      items: [...waiting.value.items, ...state.value.items].slice(0, kept),
    };
    waiting.value = nothing;
  }, [isPaused]);
  return { ...state.value, held: waiting.value.count, isConnected };
}

const nothing = { items: [], count: 0 } as const;
