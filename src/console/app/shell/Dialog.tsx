import { useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { sessionState } from "../session.js";

interface DialogProps {
  /** Its name for screen readers. */
  readonly name: string;
  readonly class?: string;
  /** The user types into it, so a click outside does not close it. */
  readonly isForm?: boolean;
  readonly children: ComponentChildren;
  onClose(): void;
}

/** Over the page, which waits meanwhile; Escape closes it, and a click beside it. */
export function Dialog({ name, class: more = "", isForm = false, children, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // One that is closed gives the focus back to where it was; one that only goes away does not.
  useLayoutEffect(() => {
    const { current } = dialog;
    return () => current?.close();
  }, []);
  useSignalEffect(() => {
    const { current } = dialog;
    // The dialog opened last lies on top, and that must be the login.
    if (sessionState.value !== "ended" && current?.open === false) current.showModal();
  });
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape, which the browser turns into onCancel, does the same
    <dialog
      ref={dialog}
      class={`dialog ${more}`}
      aria-label={name}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        const { current } = dialog;
        if (!isForm && current !== null && event.target === current && isBeside(current, event)) onClose();
      }}
    >
      {children}
    </dialog>
  );
}

function isBeside(dialog: HTMLDialogElement, { clientX, clientY }: MouseEvent): boolean {
  const { left, right, top, bottom } = dialog.getBoundingClientRect();
  return clientX < left || clientX > right || clientY < top || clientY > bottom;
}
