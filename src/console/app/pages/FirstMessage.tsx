/** What a new device is waited for: that it connects, that it says something, and that this becomes points. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call, type Page } from "../api.js";
import { Answer, useAsk } from "../ask.js";
import { t } from "../i18n.js";
import { hrefOf } from "../router.js";
import { Status } from "../shell/Status.js";
import { shownHeaders } from "../shown.js";
import { DeviceAccess } from "./DeviceAccess.js";
import type { DeviceRecord } from "./device-record.js";

interface EventRow {
  readonly id: number;
  readonly topic: string;
  readonly payload: string;
}

/** Of POST /devices/{id}/explain, what is looked at here. */
interface Explained {
  readonly form: { readonly taken: string | null };
  readonly points: readonly { readonly dataPointID: string; readonly value: unknown }[];
  readonly refused: readonly {
    readonly key: string | null;
    readonly reason: string;
    readonly text: string;
  }[];
  readonly unknownKeys: readonly { readonly key: string; readonly suggestion: string | null }[];
}

const lookMs = 500;

export function FirstMessage({ id }: { readonly id: string }) {
  const path = `/devices/${encodeURIComponent(id)}`;
  const device = useAsk(
    path,
    (signal) => call<DeviceRecord>("GET", path, { headers: shownHeaders(), signal }),
    lookMs,
  );
  const events = useAsk(
    `${path}/events`,
    (signal) => call<Page<EventRow>>("GET", `${path}/events`, { query: { _limit: 1 }, signal }),
    lookMs,
  );
  const newest = events.data?.items[0];
  const looked = useSignal(0);
  const explained = useAsk(`${path} explain ${newest?.id ?? ""} ${looked.value}`, async (signal) =>
    newest === undefined
      ? null
      : call<Explained>("POST", `${path}/explain`, { body: { eventID: newest.id }, signal }),
  );
  return (
    <Answer asked={device}>
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
            <WhyNot
              explained={explained.data}
              productID={record.productID}
              onMended={() => {
                looked.value++;
              }}
            />
          )}
          <p class="row">
            <a class="button" href={hrefOf(`/devices/${record.id}`)}>
              {t("start.toDevice")}
            </a>
          </p>
          <DeviceAccess device={record} />
        </div>
      )}
    </Answer>
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

interface WhyNotProps {
  readonly explained: Explained;
  readonly productID: string;
  onMended(): void;
}

/** What of a message became no point, why, and what would mend it. */
function WhyNot({ explained, productID, onMended }: WhyNotProps) {
  const fault = useSignal<string | null>(null);
  async function makePoint(key: string): Promise<void> {
    fault.value = null;
    try {
      await call("POST", "/data_points", {
        body: { productID, dataPointID: key, dataPointName: key, pointDataType: 1, dataTransType: 1 },
      });
      onMended();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = [error.message, ...Object.values(error.fields)].join(": ");
    }
  }
  const { refused, unknownKeys, form } = explained;
  if (refused.length + unknownKeys.length === 0 && form.taken !== null) return null;
  return (
    <div class="notice warn">
      <h2>{t("start.whyNot")}</h2>
      <ul>
        {form.taken === null && <li>{t("start.noForm")}</li>}
        {unknownKeys.map(({ key, suggestion }) => (
          <li key={key} class="row">
            <code>{key}</code>{" "}
            {suggestion === null ? t("start.unknown") : t("start.similar", { name: suggestion })}
            <button type="button" class="button" onClick={() => void makePoint(key)}>
              {t("start.makePoint", { key })}
            </button>
          </li>
        ))}
        {refused
          .filter(({ reason }) => reason !== "unknown")
          .map(({ key, reason, text }) => (
            <li key={`${key} ${reason}`}>
              {key !== null && <code>{key}</code>} {text}
            </li>
          ))}
      </ul>
      {fault.value !== null && <p class="status bad">{fault.value}</p>}
    </div>
  );
}
