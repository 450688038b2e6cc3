/** What a device has said, newest first, and what became of it; what would become of something else. */
import { useSignal } from "@preact/signals";
import { call } from "../api.js";
import { t } from "../i18n.js";
import { useQuery } from "../query.js";
import { Status } from "../shell/Status.js";
import { MessageHistory } from "./MessageHistory.js";
import type { Owner } from "./owner.js";
import { Redecode } from "./Redecode.js";
import { TryPayload } from "./TryPayload.js";

interface IngestStatus {
  readonly refused?: Readonly<Record<string, number>>;
}

const refreshMs = 2000;

export function DeviceMessages({ device }: { readonly device: Owner }) {
  const isPaused = useSignal(false);
  const topic = useSignal("");
  const status = useQuery(
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
            <Status key={reason} tone="warn" word={t("device.refused", { count, reason })} />
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
      <MessageHistory
        device={device}
        {...(isPaused.value ? {} : { everyMs: refreshMs })}
        onNewest={(row) => {
          topic.value = row.topic;
        }}
      />
      <TryPayload device={device.id} productID={device.productID} topic={topic.value} />
      <Redecode device={device.id} />
    </section>
  );
}
