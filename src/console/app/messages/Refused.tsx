/** The keys of a message that became no points, the reasons, and one click that creates a missing data point. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { me } from "../session.js";
import type { Explained } from "./explained.js";

interface RefusedProps {
  readonly explained: Pick<Explained, "refused" | "unknownKeys"> & Partial<Pick<Explained, "form">>;
  /** The product for which a data point can be created; null: the page offers none. */
  readonly productID: string | null;
  onMended(): void;
}

const keyPattern = /^[A-Za-z0-9.:-][A-Za-z0-9_.:-]{0,63}$/;

export function Refused({ explained, productID, onMended }: RefusedProps) {
  const fault = useSignal<string | null>(null);
  const { refused, unknownKeys, form } = explained;
  const isFormless = form !== undefined && form.taken === null;
  const mayMake = productID !== null && me.value?.rights.includes("write") === true;
  if (refused.length + unknownKeys.length === 0 && !isFormless) return null;

  async function makePoint(key: string): Promise<void> {
    fault.value = null;
    try {
      await call("POST", "/data_points", {
        body: {
          productID,
          dataPointID: key,
          dataPointName: key,
          pointDataType: parseRefusalType(refused.find((one) => one.key === key)?.value ?? null),
          dataTransType: 1,
        },
      });
      onMended();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = [error.message, ...Object.values(error.fields)].join(": ");
    }
  }

  return (
    <div class="notice warn refused">
      <h3>{t("start.whyNot")}</h3>
      <ul>
        {isFormless && <li>{t("start.noForm")}</li>}
        {unknownKeys.map(({ key, suggestion, isInProduct }) => (
          <li key={key} class="row">
            <code>{key}</code>{" "}
            {isInProduct
              ? t("message.notOfStream")
              : suggestion === null
                ? t("start.unknown")
                : t("start.similar", { name: suggestion })}
            {mayMake && !isInProduct && keyPattern.test(key) && (
              <button type="button" class="button" onClick={() => void makePoint(key)}>
                {t("start.makePoint", { key })}
              </button>
            )}
          </li>
        ))}
        {refused
          .filter(({ reason }) => reason !== "unknown")
          .map(({ key, value, reason, count, text }) => (
            <li key={`${key} ${reason} ${value}`}>
              {key !== null && <code>{key}</code>} {value !== null && <code class="line">{value}</code>}{" "}
              <code>{reason}</code>
              {count > 1 && ` × ${count}`} {text}
            </li>
          ))}
      </ul>
      {fault.value !== null && (
        <p class="status bad" role="alert">
          {fault.value}
        </p>
      )}
    </div>
  );
}

const [numberType, textType, booleanType] = [1, 3, 5];

/** Guesses the type from the value that the key had. */
function parseRefusalType(value: string | null): number {
  if (value === null || (value.trim() !== "" && Number.isFinite(Number(value)))) return numberType;
  return value === "true" || value === "false" ? booleanType : textType;
}
