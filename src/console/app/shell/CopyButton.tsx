import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { t } from "../i18n.js";

const shownMs = 1500;

/** Copies a text; over plain HTTP, where pages have no clipboard, it shows it to be copied by hand. */
export function CopyButton({
  text,
  children,
}: {
  readonly text: string;
  readonly children: ComponentChildren;
}) {
  const isCopied = useSignal(false);
  const isShown = useSignal(false);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      isCopied.value = true;
      setTimeout(() => {
        isCopied.value = false;
      }, shownMs);
    } catch {
      isShown.value = true;
    }
  }
  return (
    <>
      <button type="button" class="button quiet" onClick={() => void copy()}>
        {isCopied.value ? t("action.copied") : children}
      </button>
      {isShown.value && (
        <textarea
          class="input mono"
          readOnly
          rows={3}
          value={text}
          onFocus={(event) => event.currentTarget.select()}
        />
      )}
    </>
  );
}
