/** One value of a row: codes by their words, states by shape and colour too, long texts on one line. */
import { describeCode } from "../codes.js";
import { statusTones, toneOfSeverity } from "../map/states.js";
import { Status, type Tone } from "../shell/Status.js";
import { Moment } from "../shown.js";

const asCode: ReadonlySet<string> = new Set([
  "payload",
  "topic",
  "condition",
  "entity",
  "deviceID",
  "productID",
  "tenantID",
  "appID",
]);

/** Fields that are stamps: `createAt`, `startTime`, `lastSeen`. */
const isMoment = /(At|Time|^at|Seen)$/;
/** Durations are smaller: this is in 1970. */
const longAgo = 10_000_000_000;

const tones: Readonly<Record<string, (code: unknown) => Tone | undefined>> = {
  alertSeverity: (code) => toneOfSeverity(Number(code)),
  deviceStatus: (code) => statusTones[Number(code)],
  connectStatus: (code) => (["idle", "good", "bad"] as const)[Number(code)],
  publishStatus: (code) => (["bad", "idle", "good", "idle"] as const)[Number(code)],
  status: (code) => (({ waiting: "idle", delivered: "good", failed: "bad" }) as const)[String(code)],
};

export const isNothing = (value: unknown): boolean => value === null || value === undefined || value === "";

export function Cell({ field, value }: { readonly field: string; readonly value: unknown }) {
  if (isNothing(value)) return <span class="muted">–</span>;
  if (typeof value === "object") return <code class="line">{JSON.stringify(value)}</code>;
  if (typeof value === "number" && isMoment.test(field) && value > longAgo) return <Moment at={value} />;
  const tone = tones[field]?.(value);
  if (tone !== undefined) return <Status tone={tone} word={describeCode(field, value)} />;
  if (typeof value === "number") return <>{describeCode(field, value)}</>;
  const text = describeCode(field, String(value));
  if (asCode.has(field)) {
    return (
      <code class="line" title={text}>
        {text}
      </code>
    );
  }
  return (
    <span class="line" title={text}>
      {text}
    </span>
  );
}
