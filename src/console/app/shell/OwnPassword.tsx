/** Changes the password of the user who is logged in. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { closeOverlay } from "../search/open.js";
import { me } from "../session.js";
import type { TextKey } from "../texts/texts.js";
import { Dialog } from "./Dialog.js";

export function OwnPassword() {
  const faults = useSignal<Readonly<Record<string, string>>>({});
  const failure = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const isDone = useSignal(false);

  async function save(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const [password, newPassword] = [String(form.get("password")), String(form.get("newPassword"))];
    failure.value = null;
    faults.value = newPassword === form.get("again") ? {} : { again: t("password.differ") };
    if (faults.value.again !== undefined) return;
    isBusy.value = true;
    try {
      const body = { password, newPassword, revokeApiKeys: form.get("revokeApiKeys") !== null };
      await call("PUT", "/me/password", { body });
      isDone.value = true;
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      faults.value = error.fields;
      failure.value = error.status === 0 ? t("state.away") : error.message;
    } finally {
      isBusy.value = false;
    }
  }

  return (
    <Dialog name={t("password.title")} class="narrow" isForm onClose={closeOverlay}>
      {isDone.value ? (
        <div class="form">
          <p class="notice good" role="status">
            {t("password.done")}
          </p>
          <p>
            <button type="button" class="button main" onClick={closeOverlay}>
              {t("action.close")}
            </button>
          </p>
        </div>
      ) : (
        <form class="form" onSubmit={save}>
          <h2>{t("password.title")}</h2>
          <input type="hidden" autocomplete="username" value={me.value?.username ?? ""} />
          <Secret name="password" text="password.present" fault={faults.value.password} />
          <Secret name="newPassword" text="password.new" fault={faults.value.newPassword} />
          <Secret name="again" text="password.again" fault={faults.value.again} />
          <label class="row">
            <input type="checkbox" name="revokeApiKeys" />
            {t("password.keys")}
          </label>
          <p class="muted">{t("password.note")}</p>
          {failure.value !== null && (
            <p class="notice bad" role="alert">
              {failure.value}
            </p>
          )}
          <p class="row">
            <button type="submit" class="button main" disabled={isBusy.value}>
              {t("action.save")}
            </button>
            <button type="button" class="button" onClick={closeOverlay}>
              {t("action.cancel")}
            </button>
          </p>
        </form>
      )}
    </Dialog>
  );
}

interface SecretProps {
  readonly name: string;
  readonly text: TextKey;
  readonly fault: string | undefined;
}

function Secret({ name, text, fault }: SecretProps) {
  return (
    <label class="field">
      <span class="name">{t(text)}</span>
      <input
        class="input"
        type="password"
        name={name}
        required
        autocomplete={name === "password" ? "current-password" : "new-password"}
        aria-invalid={fault === undefined ? undefined : "true"}
      />
      {fault !== undefined && (
        <span class="fault" role="alert">
          {fault}
        </span>
      )}
    </label>
  );
}
