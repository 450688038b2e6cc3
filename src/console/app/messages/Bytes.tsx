/** A payload byte by byte, in hexadecimal and as text; of a binary stream each field in its colour. */
import { useSignal } from "@preact/signals";
import { t } from "../i18n.js";
import type { BinaryField } from "./explained.js";

interface BytesProps {
  readonly bytes: Uint8Array;
  /** Fields of a binary stream, in their order; null: the bytes are no fields. */
  readonly fields: readonly BinaryField[] | null;
}

const perRow = 16;
const firstRows = 16;
const seriesColors = 8;

export function Bytes({ bytes, fields }: BytesProps) {
  const isWhole = useSignal(false);
  const rows = Math.ceil(bytes.length / perRow);
  const shown = isWhole.value ? rows : Math.min(rows, firstRows);
  const fieldAt = (at: number): number => fields?.findIndex(({ from, to }) => at >= from && at < to) ?? -1;
  if (bytes.length === 0) return <p class="muted">{t("message.empty")}</p>;
  return (
    <>
      {fields !== null && (
        <ul class="row">
          {fields.map(({ dataPointID, from, to }, i) => (
            <li key={dataPointID} class={`byte-field field-${i % seriesColors}`}>
              <code>{dataPointID}</code>{" "}
              <span class="muted">{from + 1 === to ? from : `${from}–${to - 1}`}</span>
            </li>
          ))}
        </ul>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long rows are scrolled by keys */}
      <pre class="bytes" tabIndex={0}>
        {Array.from({ length: shown }, (_, row) => {
          const start = row * perRow;
          const cells = [...bytes.subarray(start, start + perRow)];
          return (
            <span key={start}>
              <span class="muted">{start.toString(16).padStart(4, "0")}</span>
              {"  "}
              {cells.map((byte, i) => {
                const field = fieldAt(start + i);
                return (
                  <span
                    key={start + i}
                    {...(field < 0
                      ? {}
                      : {
                          class: `byte-field field-${field % seriesColors}`,
                          title: fields?.[field]?.dataPointID,
                        })}
                  >
                    {byte.toString(16).padStart(2, "0")}{" "}
                  </span>
                );
              })}
              {"   ".repeat(perRow - cells.length)}
              {cells.map(formatByte).join("")}
              {"\n"}
            </span>
          );
        })}
      </pre>
      {shown < rows && (
        <button
          type="button"
          class="button quiet"
          onClick={() => {
            isWhole.value = true;
          }}
        >
          {t("message.allBytes", { count: bytes.length })}
        </button>
      )}
    </>
  );
}

const formatByte = (byte: number): string => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·");
