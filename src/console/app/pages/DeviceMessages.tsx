/** What a device has said, newest first, and what became of it. */
import { useSignal } from "@preact/signals";
import { call, type Page } from "../api.js";
import { Answer, useAsk } from "../ask.js";
import { t } from "../i18n.js";
import { Moment, shownHeaders } from "../shown.js";
import type { DeviceRecord } from "./device-record.js";

interface EventRow {
  readonly id: number;
  readonly topic: string;
  readonly payload: string;
  readonly IP: string | null;
  readonly msgTime: number;
}

interface IngestStatus {
  readonly refused?: Readonly<Record<string, number>>;
}

const refreshMs = 2000;
const rowsShown = 50;

export function DeviceMessages({ device }: { readonly device: DeviceRecord }) {
  const isPaused = useSignal(false);
  const path = `/devices/${device.id}/events`;
  const list = useAsk(
    `${path} ${isPaused.value}`,
    (signal) =>
      call<Page<EventRow>>("GET", path, {
        query: { _limit: rowsShown },
        headers: shownHeaders(),
        signal,
      }),
    isPaused.value ? undefined : refreshMs,
  );
  const status = useAsk(
    `ingest ${device.id}`,
    (signal) => call<IngestStatus>("GET", `/devices/${device.id}/ingest_status`, { signal }),
    refreshMs,
  );
  const refused = Object.entries(status.data?.refused ?? {}).filter(([, count]) => count > 0);
  return (
    <section>
      <div class="row spread tools">
        <span class="row">
          {refused.map(([reason, count]) => (
            <span key={reason} class="status warn">
              {t("device.refused", { count, reason })}
            </span>
          ))}
        </span>
        <button
          type="button"
          class="button"
          aria-pressed={isPaused.value}
          onClick={() => {
            isPaused.value = !isPaused.value;
          }}
        >
          {t(isPaused.value ? "live.resume" : "live.pause")}
        </button>
      </div>
      <Answer asked={list}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="notice">{t("device.noMessages")}</p>
          ) : (
            <ul class="messages">
              {items.map(({ id, msgTime, topic, payload }) => (
                <li key={id}>
                  <details>
                    <summary>
                      <span class="muted">
                        <Moment at={msgTime} />
                      </span>{" "}
                      <code>{topic}</code> <code class="line">{payload}</code>
                    </summary>
                    <pre>{formatted(payload)}</pre>
                  </details>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </section>
  );
}

/** JSON with its lines; anything else as it came. */
function formatted(payload: string): string {
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch {
    return payload;
  }
}
