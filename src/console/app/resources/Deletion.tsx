/** Asks once more before it deletes, or takes away, and says why it could not. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import type { TextKey } from "../texts/texts.js";

interface DeletionProps {
  readonly path: string;
  readonly ids: readonly number[];
  /** The name of the action; absent: to delete. */
  readonly verb?: TextKey;
  readonly question?: TextKey;
  /** False: it is plain what it is about. */
  readonly isCounted?: boolean;
  /** Absent: what is asked for is to delete the ids at the path. */
  remove?(): Promise<unknown>;
  onDone(): void;
}

export function Deletion({
  path,
  ids,
  verb = "action.delete",
  question = "list.sure",
  isCounted = true,
  remove: given,
  onDone,
}: DeletionProps) {
  const isAsking = useSignal(false);
  const fault = useSignal<string | null>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  useEffect(() => cancel.current?.focus(), [isAsking.value]);

  function ask(isOn: boolean): void {
    isAsking.value = isOn;
    fault.value = null;
  }

  async function remove(): Promise<void> {
    try {
      await (given?.() ?? call("DELETE", path, { query: { ids: ids.join() } }));
      ask(false);
      onDone();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      fault.value = [error.message, ...Object.values(error.fields)].join(": ");
    }
  }

  if (!isAsking.value) {
    return (
      <button type="button" class="button danger" onClick={() => ask(true)}>
        {t(verb)}
        {isCounted && ` (${ids.length})`}
      </button>
    );
  }
  return (
    <span class="row" role="alertdialog" aria-label={t(verb)}>
      {fault.value === null ? (
        t(question, { count: ids.length })
      ) : (
        <span class="status bad">{fault.value}</span>
      )}
      <button type="button" class="button danger" onClick={() => void remove()}>
        {t(verb)}
      </button>
      <button ref={cancel} type="button" class="button" onClick={() => ask(false)}>
        {t("action.cancel")}
      </button>
    </span>
  );
}
