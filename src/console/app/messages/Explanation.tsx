/** A message taken apart: its bytes, the form that was found, its points, and what was refused. */
import { numberText } from "../charts/numbers.js";
import { offsetText, wallText } from "../charts/zone.js";
import { t } from "../i18n.js";
import { formatHref } from "../router.js";
import { me } from "../session.js";
import { Scroll } from "../shell/Scroll.js";
import { Status } from "../shell/Status.js";
import { Bytes } from "./Bytes.js";
import type { Explained } from "./explained.js";
import { formatted } from "./payload.js";
import { Refused } from "./Refused.js";

interface ExplanationProps {
  readonly explained: Explained;
  readonly bytes: Uint8Array;
  readonly productID: string;
  onMended(): void;
}

const pointsShown = 100;

export function Explanation({ explained, bytes, productID, onMended }: ExplanationProps) {
  const { form, stream, points, binary, entries, isTruncated, isDiscarded } = explained;
  const text = decodeText(bytes);
  return (
    <div class="explanation">
      <div class="row">
        <Status
          tone={form.taken === null ? "bad" : "good"}
          word={
            form.taken === null
              ? t("message.noForm")
              : t("message.form", { form: formNames[form.taken] ?? form.taken })
          }
        />
        {form.isEnvelope && <span>{t("message.envelope", { count: entries?.count ?? 0 })}</span>}
        {stream !== null && (
          <a href={formatHref(`/streams/${stream.id}`)}>{t("message.stream", { name: stream.streamName })}</a>
        )}
        {isDiscarded && <Status tone="warn" word={t("message.discarded")} />}
        {form.others.length > 0 && (
          <details>
            <summary class="muted">{t("message.whyNotOthers")}</summary>
            <ul>
              {form.others.map(({ form, why }) => (
                <li key={form}>
                  {formNames[form] ?? form}: {why}
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
      {text !== null && binary === null ? <pre class="text">{formatted(text)}</pre> : null}
      <details open={text === null || binary !== null}>
        <summary class="muted">{t("message.bytes", { count: bytes.length })}</summary>
        <Bytes bytes={bytes} fields={binary} />
      </details>
      <Points points={points} />
      {isTruncated && <p class="muted hint">{t("message.truncated")}</p>}
      <Refused explained={explained} productID={productID} onMended={onMended} />
      {entries?.items.map((entry, i) => (
        <section key={i} class="entry">
          <h3>
            <code>{entry.deviceID ?? "–"}</code> <span class="muted">{entry.state}</span>
          </h3>
          <Points points={entry.points} />
          <Refused explained={entry} productID={null} onMended={onMended} />
        </section>
      ))}
    </div>
  );
}

const formNames: Readonly<Record<string, string>> = {
  ...{ binary: "binary", cbor: "CBOR", senml: "SenML", json: "JSON" },
};

function Points({ points }: Pick<Explained, "points">) {
  const zone = me.value?.timezone ?? "UTC";
  if (points.length === 0) return <p class="muted">{t("message.noPoints")}</p>;
  return (
    <Scroll name={t("message.point")}>
      <table class="table points">
        <thead>
          <tr>
            <th scope="col">{t("message.point")}</th>
            <th scope="col">{t("message.value")}</th>
            <th scope="col">{`${t("explore.time")} (${zone})`}</th>
            <th scope="col">{t("message.from")}</th>
          </tr>
        </thead>
        <tbody>
          {points.slice(0, pointsShown).map(({ dataPointID, value, time, from }) => (
            <tr key={`${dataPointID} ${time}`}>
              <td>
                <code>{dataPointID}</code>
              </td>
              <td>
                {typeof value === "number" ? numberText(value) : <code class="line">{String(value)}</code>}
              </td>
              <td class="mono">
                {wallText(zone, Math.round(time))} {offsetText(zone, time)}
              </td>
              <td class="muted">
                {"key" in from
                  ? from.key
                  : from.fromByte + 1 === from.toByte
                    ? t("message.byte", { at: from.fromByte })
                    : t("message.byteRange", { from: from.fromByte, to: from.toByte - 1 })}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** Null where the bytes are no text. */
function decodeText(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}
