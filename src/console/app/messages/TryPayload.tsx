/** A payload that nobody has sent: what would become of it. Nothing is stored. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { Explanation } from "./Explanation.js";
import type { Explained } from "./explained.js";
import { bytesOfHex, encodeBase64 } from "./payload.js";

interface TryPayloadProps {
  readonly device: number;
  readonly productID: string;
  /** What the fields begin with. */
  readonly topic: string;
}

export function TryPayload({ device, productID, topic: first }: TryPayloadProps) {
  const topic = useSignal<string | null>(null);
  const payload = useSignal("");
  const isHex = useSignal(false);
  const result = useSignal<{ readonly explained: Explained; readonly bytes: Uint8Array } | null>(null);
  const fault = useSignal<string | null>(null);

  async function run(): Promise<void> {
    fault.value = null;
    const bytes = isHex.value ? bytesOfHex(payload.value) : new TextEncoder().encode(payload.value);
    if (bytes === null) {
      fault.value = t("try.noHex");
      return;
    }
    const sent = isHex.value ? { base64: encodeBase64(bytes) } : { payload: payload.value };
    try {
      const explained = await call<Explained>("POST", `/devices/${device}/explain`, {
        body: { topic: topic.value ?? first, ...sent },
      });
      result.value = { explained, bytes };
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = [error.message, ...Object.values(error.fields)].join(": ");
    }
  }

  return (
    <details class="try">
      <summary>{t("try.title")}</summary>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <div class="row send">
          <label class="field">
            <span class="name">{t("command.topic")}</span>
            <input
              class="input mono"
              value={topic.value ?? first}
              onInput={(event) => {
                topic.value = event.currentTarget.value;
              }}
            />
          </label>
          <label class="field">
            <span class="name">{t("try.as")}</span>
            <select
              class="input"
              value={isHex.value ? "hex" : "text"}
              onChange={(event) => {
                isHex.value = event.currentTarget.value === "hex";
              }}
            >
              <option value="text">{t("try.text")}</option>
              <option value="hex">{t("try.hex")}</option>
            </select>
          </label>
        </div>
        <label class="field">
          <span class="name">{t("command.payload")}</span>
          <textarea
            class="input mono"
            spellcheck={false}
            value={payload.value}
            placeholder={isHex.value ? "41 ac 00 00" : '{"temp": 21.5}'}
            onInput={(event) => {
              payload.value = event.currentTarget.value;
            }}
          />
        </label>
        <p class="row">
          <button type="submit" class="button">
            {t("try.run")}
          </button>
          <span class="muted">{t("try.hint")}</span>
        </p>
      </form>
      {fault.value !== null && (
        <p class="notice bad" role="alert">
          {fault.value}
        </p>
      )}
      {result.value !== null && (
        <Explanation {...result.value} productID={productID} onMended={() => void run()} />
      )}
    </details>
  );
}
