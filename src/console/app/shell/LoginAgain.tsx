import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n.js";
import { Login } from "./Login.js";

/** The login over a page whose session has ended, and over every dialog that is open there: all of it waits as it is. */
export function LoginAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const { current } = dialog;
    current?.showModal();
    // Closed, it gives the focus back to where it was.
    return () => current?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="overlay"
      aria-label={t("login.title")}
      onCancel={(event) => event.preventDefault()}
      // A browser closes at the second Escape, whatever the page says of the first.
      onClose={({ currentTarget }) => currentTarget.isConnected && currentTarget.showModal()}
    >
      <Login isAgain={true} />
    </dialog>
  );
}
