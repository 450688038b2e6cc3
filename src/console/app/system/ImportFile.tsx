/** A file is chosen or dropped, its first rows are shown and its header is looked at; then it is sent. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiFailure } from "../api.js";
import { api } from "../base.js";
import { t } from "../i18n.js";
import { Scroll } from "../shell/Scroll.js";
import { useDrop } from "../shell/use-drop.js";
import { TaskProgress } from "../tasks/TaskProgress.js";
import { parseTaskID } from "../tasks/task.js";
import type { ImportKind } from "./import-kinds.js";
import { createPreview, type Preview, readBeginning } from "./preview.js";

interface Chosen {
  readonly file: File;
  readonly beginning: string;
  /** Null where it cannot be read here. */
  readonly preview: Preview | null;
}

export function ImportFile({ kind }: { readonly kind: ImportKind }) {
  const chosen = useSignal<Chosen | null>(null);
  const { isOver, listeners } = useDrop(take);
  /** 0 to 1 while it travels. */
  const share = useSignal<number | null>(null);
  const failure = useSignal<string | null>(null);
  const taskID = useSignal<string | null>(null);
  const sending = useRef<AbortController | null>(null);
  const picker = useRef<HTMLInputElement>(null);
  useEffect(() => () => sending.current?.abort(), []);

  async function take(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    failure.value = null;
    taskID.value = null;
    try {
      const beginning = kind.isReadable(file) ? await readBeginning(file) : "";
      chosen.value = { file, beginning, preview: kind.isReadable(file) ? createPreview(beginning) : null };
    } catch {
      chosen.value = null;
      failure.value = t("transfer.unreadable", { file: file.name });
    }
  }

  async function send({ file, beginning }: Chosen): Promise<void> {
    const stop = new AbortController();
    sending.current = stop;
    failure.value = null;
    share.value = 0;
    try {
      const begun = await kind.send(
        file,
        beginning,
        (now) => {
          share.value = now;
        },
        stop.signal,
      );
      taskID.value = parseTaskID(begun);
      chosen.value = null;
      if (picker.current !== null) picker.current.value = "";
    } catch (error) {
      if (stop.signal.aborted) return;
      if (!(error instanceof ApiFailure)) throw error;
      // The file stays chosen: what is wrong may be mended, or pass.
      failure.value = error.status === 0 ? t("state.away") : error.message;
    } finally {
      share.value = null;
    }
  }

  const now = chosen.value;
  return (
    <section class="transfer">
      <h2>{t(kind.title)}</h2>
      <p class="muted">{t(kind.hint)}</p>
      {kind.name === "devices" && (
        <p class="row">
          <a href={`${api}/devices_template`} download>
            {t("transfer.template")}
          </a>
          <a href={`${api}/devices_template?format=csv`} download>
            {t("transfer.templateCsv")}
          </a>
        </p>
      )}
      {/* The picker within does the same as the place to drop on. */}
      <div class={isOver ? "drop-box over" : "drop-box"} {...listeners}>
        <label class="field">
          <span class="name">{t("transfer.drop")}</span>
          <input
            ref={picker}
            type="file"
            accept={kind.accept}
            onChange={(event) => void take(event.currentTarget.files?.[0])}
          />
        </label>
      </div>
      {now !== null && (
        <>
          <Looked chosen={now} kind={kind} />
          {share.value === null ? (
            <p class="row">
              <button
                type="button"
                class="button main"
                disabled={now.preview !== null && kind.missing(now.preview.columns).length > 0}
                onClick={() => void send(now)}
              >
                {t("transfer.send")}
              </button>
              <button
                type="button"
                class="button"
                onClick={() => {
                  chosen.value = null;
                  if (picker.current !== null) picker.current.value = "";
                }}
              >
                {t("action.cancel")}
              </button>
            </p>
          ) : (
            <p class="row">
              <progress max={1} value={share.value} aria-label={t("task.progress")} />
              <span class="muted">{Math.round(share.value * 100)} %</span>
              <button type="button" class="button" onClick={() => sending.current?.abort()}>
                {t("action.cancel")}
              </button>
            </p>
          )}
        </>
      )}
      {failure.value !== null && (
        <p class="notice bad" role="alert">
          {failure.value}
        </p>
      )}
      {taskID.value !== null && <TaskProgress taskID={taskID.value} />}
    </section>
  );
}

/** What the file contains, as far as the browser can see before it is sent. */
function Looked({ chosen: { file, preview }, kind }: { readonly chosen: Chosen; readonly kind: ImportKind }) {
  const size = t("transfer.size", { file: file.name, size: Math.ceil(file.size / 1000) });
  if (preview === null) {
    return <p>{kind.isReadable(file) ? t("transfer.noTable", { file: file.name }) : size}</p>;
  }
  const missing = kind.missing(preview.columns);
  return (
    <>
      <p>{size}</p>
      {missing.length > 0 && (
        <p class="notice bad" role="alert">
          {t("transfer.missing", { columns: missing.join(", ") })}
        </p>
      )}
      <Scroll name={file.name}>
        <table class="table preview">
          <thead>
            <tr>
              {preview.columns.map((name, i) => (
                <th key={`${i} ${name}`}>
                  <code>{name}</code>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {preview.rows.map((row, i) => (
              <tr key={`${i} ${row[0]}`}>
                {preview.columns.map((name, column) => (
                  <td key={`${column} ${name}`}>
                    <span class="line mono">{row[column] ?? ""}</span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="muted">{t("transfer.first", { count: preview.rows.length })}</p>
    </>
  );
}
