import type { ComponentChildren } from "preact";
import { t } from "../i18n.js";
import type { Resource, Row } from "./resources.js";

interface RecordFormProps {
  readonly resource: Pick<Resource, "title">;
  /** Null: a new one. */
  readonly record: Row | null;
  readonly class?: string;
  /** A fault besides those of fields; empty: only fields have faults. */
  readonly failure: string | null;
  readonly isBusy: boolean;
  readonly children: ComponentChildren;
  onSave(): Promise<void>;
  onCancel(): void;
}

/** What every form of a record has around its fields: what it is of, what is wrong, and the ways out. */
export function RecordForm({
  resource,
  record,
  class: more = "",
  failure,
  isBusy,
  children,
  onSave,
  onCancel,
}: RecordFormProps) {
  return (
    <form
      class={`form ${more}`}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void onSave();
      }}
    >
      <h2>
        {t(resource.title)}: {t(record === null ? "form.new" : "form.edit")}
      </h2>
      {children}
      {failure !== null && failure !== "" && (
        <p class="notice bad" role="alert">
          {failure}
        </p>
      )}
      <p class="row">
        <button type="submit" class="button main" disabled={isBusy}>
          {t("action.save")}
        </button>
        <button type="button" class="button" onClick={onCancel}>
          {t("action.cancel")}
        </button>
      </p>
    </form>
  );
}
