/** What can be done to the chosen rows of the fleet. */
import { useSignal } from "@preact/signals";
import { t } from "../i18n.js";
import { me } from "../session.js";
import { BulkDialog } from "./BulkDialog.js";
import { type BulkAction, bulkActions } from "./begun.js";
import { countSelected, type Selection } from "./selection.js";

interface BulkBarProps {
  readonly selection: Selection;
  /** Rows that pass the filter. */
  readonly count: number;
  /** As the API takes it. */
  readonly filter: Readonly<Record<string, string | number>>;
  onClear(): void;
  onBegun(taskID: string): void;
}

export function BulkBar({ selection, count, filter, onClear, onBegun }: BulkBarProps) {
  const open = useSignal<BulkAction | null>(null);
  const mayCommand = me.value?.rights.includes("command") === true;
  const chosen = countSelected(selection, count);
  return (
    <div class="row bulk" role="toolbar" aria-label={t("bulk.title")}>
      <strong role="status">{t("bulk.chosen", { count: chosen })}</strong>
      {bulkActions
        .filter((action) => action !== "command" || mayCommand)
        .map((action) => (
          <button
            key={action}
            type="button"
            class={`button ${action === "delete" ? "danger" : ""}`}
            onClick={() => {
              open.value = action;
            }}
          >
            {t(`bulk.${action}`)}
          </button>
        ))}
      <button type="button" class="button quiet" onClick={onClear}>
        {t("bulk.clear")}
      </button>
      {open.value !== null && (
        <BulkDialog
          action={open.value}
          count={chosen}
          target={selection === "all" ? { filter } : { ids: [...selection] }}
          onClose={() => {
            open.value = null;
          }}
          onBegun={onBegun}
        />
      )}
    </div>
  );
}
