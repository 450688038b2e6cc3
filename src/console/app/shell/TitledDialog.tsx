import type { ComponentChildren } from "preact";
import { t } from "../i18n.js";
import { Dialog } from "./Dialog.js";

interface TitledDialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  onClose(): void;
}

/** A dialog whose name is seen, with a button that closes it. */
export function TitledDialog({ title, children, onClose }: TitledDialogProps) {
  return (
    <Dialog name={title} class="form" isForm onClose={onClose}>
      <p class="row spread">
        <strong>{title}</strong>
        <button type="button" class="button quiet" onClick={onClose}>
          {t("action.close")}
        </button>
      </p>
      {children}
    </Dialog>
  );
}
