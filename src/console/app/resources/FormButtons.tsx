import { t } from "../i18n.js";

interface FormButtonsProps {
  /** What is wrong besides fields. */
  readonly failure: string | null;
  readonly isBusy: boolean;
  onCancel(): void;
}

export function FormButtons({ failure, isBusy, onCancel }: FormButtonsProps) {
  return (
    <>
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
    </>
  );
}
