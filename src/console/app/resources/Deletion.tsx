/** Asks once more before it deletes, and says why it could not. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import type { Resource } from "./resources.js";

const deletion = { name: "action.delete", sure: "list.sure" } as const;

interface DeletionProps {
  readonly path: string;
  readonly ids: readonly number[];
  /** Where deletion is something else. */
  readonly removal: Resource["removal"];
  onDone(): void;
}

export function Deletion({ path, ids, removal, onDone }: DeletionProps) {
  const { name, sure } = removal ?? deletion;
  const isAsking = useSignal(false);
  const fault = useSignal<string | null>(null);

  function ask(isOn: boolean): void {
    isAsking.value = isOn;
    fault.value = null;
  }

  async function remove(): Promise<void> {
    try {
      await call("DELETE", path, { query: { ids: ids.join() } });
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
        {t(name)} ({ids.length})
      </button>
    );
  }
  return (
    <span class="row" role="alertdialog" aria-label={t(name)}>
      {fault.value === null ? t(sure, { count: ids.length }) : <span class="status bad">{fault.value}</span>}
      <button type="button" class="button danger" onClick={() => void remove()}>
        {t(name)}
      </button>
      <button type="button" class="button" onClick={() => ask(false)}>
        {t("action.cancel")}
      </button>
    </span>
  );
}
