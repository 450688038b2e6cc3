import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../i18n.js";

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  onClose(): void;
}

/** A dialog over the page, left by Escape or its button. */
export function Dialog({ title, children, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      class="dialog form"
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <p class="row spread">
        <strong>{title}</strong>
        <button type="button" class="button quiet" onClick={onClose}>
          {t("action.close")}
        </button>
      </p>
      {children}
    </dialog>
  );
}
