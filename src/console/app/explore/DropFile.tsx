/** A file of points dropped on the chart: looked at here, and imported when it is wanted. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { me } from "../session.js";
import { TaskLine, useTask } from "../tasks/TaskLine.js";
import { type FileLook, lookAt } from "./file-look.js";

interface DropFileProps {
  readonly children: ComponentChildren;
  /** Points have been stored. */
  onImported(): void;
}

interface Imported {
  readonly import_success_num: number;
  readonly import_failure_num?: number;
  readonly errors?: readonly { readonly line: number; readonly column: string; readonly error: string }[];
}

export function DropFile({ children, onImported }: DropFileProps) {
  const look = useSignal<FileLook | null>(null);
  const isOver = useSignal(false);
  if (me.value?.rights.includes("write") !== true) return <>{children}</>;
  async function take(file: File | undefined): Promise<void> {
    if (file !== undefined) look.value = await lookAt(file);
  }
  return (
    <section
      class={isOver.value ? "drop over" : "drop"}
      aria-label={t("explore.chart")}
      onDragOver={(event) => {
        if (event.dataTransfer?.types.includes("Files") !== true) return;
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={() => {
        isOver.value = false;
      }}
      onDrop={(event) => {
        event.preventDefault();
        isOver.value = false;
        void take(event.dataTransfer?.files[0]);
      }}
    >
      {children}
      <label class="row tight file">
        <span class="muted">{t("drop.choose")}</span>
        <input
          type="file"
          accept=".csv,.ndjson,text/csv,application/x-ndjson"
          onChange={(event) => {
            void take(event.currentTarget.files?.[0]);
            event.currentTarget.value = "";
          }}
        />
      </label>
      {look.value !== null && (
        <Import
          key={`${look.value.file.name} ${look.value.file.lastModified}`}
          look={look.value}
          onImported={onImported}
          onClose={() => {
            look.value = null;
          }}
        />
      )}
    </section>
  );
}

interface ImportProps {
  readonly look: FileLook;
  onImported(): void;
  onClose(): void;
}

const faultsShown = 5;

function Import({ look: { file, type, rows, columns, fault }, onImported, onClose }: ImportProps) {
  const statusUrl = useSignal<string | null>(null);
  const refusal = useSignal<string | null>(null);
  const task = useTask<Imported>(statusUrl.value);
  async function send(): Promise<void> {
    refusal.value = null;
    try {
      const body = file.slice(0, file.size, type);
      const started = await call<{ statusUrl: string }>("POST", "/original_data", { file: body });
      statusUrl.value = started.statusUrl;
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      refusal.value = error.message;
    }
  }
  const { found } = task;
  return (
    <section class="notice" aria-label={t("drop.title")}>
      <p>
        <strong>{file.name}</strong> {t("drop.rows", { count: rows })}
      </p>
      <p class="mono columns">{columns.join(", ")}</p>
      {fault !== null && <p class="status bad">{t(fault)}</p>}
      {refusal.value !== null && (
        <p class="status bad" role="alert">
          {refusal.value}
        </p>
      )}
      {statusUrl.value !== null && <TaskLine task={task} />}
      {found !== null && (
        <>
          <p>{t("drop.done", { stored: found.import_success_num, failed: found.import_failure_num ?? 0 })}</p>
          <ul>
            {found.errors?.slice(0, faultsShown).map(({ line, column, error }) => (
              <li key={`${line} ${column}`}>{t("drop.fault", { line, column, error })}</li>
            ))}
          </ul>
        </>
      )}
      <p class="row">
        {statusUrl.value === null && (
          <button type="button" class="button main" disabled={fault !== null} onClick={() => void send()}>
            {t("drop.import")}
          </button>
        )}
        <button
          type="button"
          class="button"
          onClick={() => {
            if (found !== null) onImported();
            onClose();
          }}
        >
          {t(statusUrl.value === null ? "action.cancel" : "action.close")}
        </button>
      </p>
    </section>
  );
}
