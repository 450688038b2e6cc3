/** A file of points dropped on the chart: looked at here, and imported when it is wanted. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { me } from "../session.js";
import { useDrop } from "../shell/use-drop.js";
import { TaskLine, useTask } from "../tasks/TaskLine.js";
import { type DryLook, dryLook } from "./dry-look.js";
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
  /** Counts the files that were taken, so that the same file is read again if it is dropped again. */
  const round = useSignal(0);
  const fault = useSignal<string | null>(null);
  const { isOver, listeners } = useDrop(take);
  if (me.value?.rights.includes("write") !== true) return <>{children}</>;
  async function take(file: File | undefined): Promise<void> {
    if (file === undefined) return;
    fault.value = null;
    try {
      look.value = await lookAt(file);
      round.value++;
    } catch {
      // A folder, or a file that has gone since.
      look.value = null;
      fault.value = t("transfer.unreadable", { file: file.name });
    }
  }
  return (
    <section class={isOver ? "drop over" : "drop"} aria-label={t("explore.chart")} {...listeners}>
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
      {fault.value !== null && (
        <p class="notice bad" role="alert">
          {fault.value}
        </p>
      )}
      {look.value !== null && (
        <Import
          key={round.value}
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
  useEffect(() => {
    if (found !== null) onImported();
  }, [found !== null]);
  const look = useQuery(fault === null && statusUrl.value === null ? "look" : null, (signal) =>
    dryLook(file, signal),
  );
  return (
    <section class="notice" aria-label={t("drop.title")}>
      <p>
        <strong>{file.name}</strong> {t("drop.rows", { count: rows })}
      </p>
      <p class="mono columns">{columns.join(", ")}</p>
      {fault !== null && <p class="status bad">{t(fault)}</p>}
      {fault === null && found === null && (
        <QueryResult asked={look}>{(seen) => <Looked look={seen} />}</QueryResult>
      )}
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
        <button type="button" class="button" onClick={onClose}>
          {t(statusUrl.value === null ? "action.cancel" : "action.close")}
        </button>
      </p>
    </section>
  );
}

const namesShown = 5;

/** What an import would change, as far as the beginning of the file shows. */
function Looked({ look }: { readonly look: DryLook }) {
  const { rows, unknownDevices, unknownPoints, wrongValues, added, changed, same } = look;
  const names = (all: readonly string[]): string =>
    all.slice(0, namesShown).join(", ") + (all.length > namesShown ? " …" : "");
  return (
    <>
      <p>{t("drop.look", { rows, added, changed, same })}</p>
      {unknownDevices.length > 0 && (
        <p class="status warn">{t("drop.unknownDevices", { names: names(unknownDevices) })}</p>
      )}
      {unknownPoints.length > 0 && (
        <p class="status warn">{t("drop.unknownPoints", { names: names(unknownPoints) })}</p>
      )}
      {wrongValues > 0 && <p class="status warn">{t("drop.wrongValues", { count: wrongValues })}</p>}
    </>
  );
}
