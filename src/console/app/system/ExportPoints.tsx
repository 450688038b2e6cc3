/** Every point of a device in a range, as a file that an import takes as the same points. */
import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { ApiFailure, asCurl } from "../api.js";
import { fromWallTime } from "../charts/zone.js";
import { receive, saveFile } from "../files.js";
import { t } from "../i18n.js";
import { ReferenceInput } from "../resources/ReferenceInput.js";
import { me } from "../session.js";
import { CopyButton } from "../shell/CopyButton.js";

const devices = { path: "/devices", value: "deviceID", label: "deviceName" } as const;
const types = { csv: "text/csv", ndjson: "application/x-ndjson" } as const;
const layouts = ["long", "wide"] as const;
const path = "/original_data";

export function ExportPoints() {
  const id = useId();
  const device = useSignal("");
  const [start, end] = [useSignal(""), useSignal("")];
  const format = useSignal<keyof typeof types>("csv");
  const layout = useSignal<(typeof layouts)[number]>("long");
  /** Bytes that have come; null: nothing is on its way. */
  const bytes = useSignal<number | null>(null);
  const outcome = useSignal<{ readonly tone: "good" | "bad"; readonly text: string } | null>(null);
  const receiving = useRef<AbortController | null>(null);
  useEffect(() => () => receiving.current?.abort(), []);
  const zone = me.value?.timezone ?? "UTC";
  const query = {
    deviceID: device.value.trim(),
    startTime: timeText(start.value, zone),
    endTime: timeText(end.value, zone),
    layout: layout.value,
  };

  async function fetchFile(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const stop = new AbortController();
    receiving.current = stop;
    outcome.value = null;
    bytes.value = 0;
    try {
      const file = await receive(path, query, types[format.value], stop.signal, (now) => {
        bytes.value = now;
      });
      saveFile(file, `${query.deviceID}.${format.value}`);
      outcome.value = { tone: "good", text: t("transfer.got", { size: kilobytes(file.size) }) };
    } catch (error) {
      if (stop.signal.aborted) return;
      if (!(error instanceof ApiFailure)) throw error;
      const text = error.status === 0 ? t("state.away") : error.message;
      outcome.value = { tone: "bad", text: [text, ...Object.values(error.fields)].join(": ") };
    } finally {
      bytes.value = null;
    }
  }

  return (
    <section class="transfer">
      <h2>{t("transfer.pointsOut")}</h2>
      <p class="muted">{t("transfer.exact")}</p>
      <form class="form" onSubmit={fetchFile}>
        <div class="fields">
          <div class="field">
            <label class="name" for={id}>
              {t("explore.device")}
            </label>
            <ReferenceInput
              shared={{ id, class: "input", required: true }}
              text={device.value}
              reference={devices}
              within={{}}
              onText={(text) => {
                device.value = text;
              }}
            />
          </div>
          <label class="field">
            <span class="name">{t("transfer.format")}</span>
            <span class="row">
              <select
                class="input choice"
                aria-label={t("transfer.format")}
                value={format.value}
                onChange={(event) => {
                  format.value = event.currentTarget.value === "ndjson" ? "ndjson" : "csv";
                }}
              >
                <option value="csv">CSV</option>
                <option value="ndjson">NDJSON</option>
              </select>
              <select
                class="input choice"
                aria-label={t("transfer.layout")}
                value={layout.value}
                onChange={(event) => {
                  layout.value = layouts.find((one) => one === event.currentTarget.value) ?? "long";
                }}
              >
                {layouts.map((one) => (
                  <option key={one} value={one}>
                    {t(`layout.${one}`)}
                  </option>
                ))}
              </select>
            </span>
          </label>
          <When
            name={t("transfer.from", { zone })}
            value={start.value}
            onValue={(value) => {
              start.value = value;
            }}
          />
          <When
            name={t("transfer.to", { zone })}
            value={end.value}
            onValue={(value) => {
              end.value = value;
            }}
          />
        </div>
        <p class="row">
          {bytes.value === null ? (
            <button type="submit" class="button main" disabled={query.deviceID === ""}>
              {t("transfer.download")}
            </button>
          ) : (
            <>
              <span role="status">{t("transfer.coming", { size: kilobytes(bytes.value) })}</span>
              <button type="button" class="button" onClick={() => receiving.current?.abort()}>
                {t("action.cancel")}
              </button>
            </>
          )}
          <CopyButton
            text={`${asCurl("GET", path, query)} -H 'Accept: ${types[format.value]}' -o points.${format.value}`}
          >
            {t("action.curl")}
          </CopyButton>
        </p>
        {outcome.value !== null && (
          <p class={`notice ${outcome.value.tone}`} role={outcome.value.tone === "bad" ? "alert" : "status"}>
            {outcome.value.text}
          </p>
        )}
      </form>
    </section>
  );
}

const kilobytes = (size: number): number => Math.ceil(size / 1000);

/** What a picker says is the wall time of the deployment; undefined where it says nothing. */
function timeText(wall: string, zone: string): number | undefined {
  const time = Date.parse(`${wall}Z`);
  return Number.isFinite(time) ? fromWallTime(zone, time) : undefined;
}

interface WhenProps {
  readonly name: string;
  readonly value: string;
  onValue(value: string): void;
}

function When({ name, value, onValue }: WhenProps) {
  return (
    <label class="field">
      <span class="name">{name}</span>
      <input
        class="input"
        type="datetime-local"
        step="1"
        value={value}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    </label>
  );
}
