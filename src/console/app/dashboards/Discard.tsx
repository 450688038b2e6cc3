import { useSignal } from "@preact/signals";
import { t } from "../i18n.js";

/** Gives up what is edited, once it is sure that this is meant. */
export function Discard({ onDiscard }: { onDiscard(): void }) {
  const isAsked = useSignal(false);
  const ask = (is: boolean) => (): void => {
    isAsked.value = is;
  };
  return isAsked.value ? (
    <>
      <button type="button" class="button danger" onClick={onDiscard}>
        {t("board.sureDiscard")}
      </button>
      <button type="button" class="button" onClick={ask(false)}>
        {t("action.cancel")}
      </button>
    </>
  ) : (
    <button type="button" class="button" onClick={ask(true)}>
      {t("board.discard")}
    </button>
  );
}
