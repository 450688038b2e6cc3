import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiFailure } from "../api.js";
import { t } from "../i18n.js";
import { logIn, me } from "../session.js";
import { Icon } from "./icons.js";

/** The form of a login: the whole page, or over a page whose session has ended. */
export function Login({ isAgain }: { readonly isAgain: boolean }) {
  const fault = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const first = useRef<HTMLInputElement>(null);
  const { left, wait } = useCountdown();
  useEffect(() => first.current?.focus(), []);

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    isBusy.value = true;
    fault.value = null;
    try {
      await logIn(String(form.get("username")), String(form.get("password")));
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      if (error.status === 429) wait(error.retryAfter ?? 1);
      else if (error.status === 401) fault.value = t("login.wrong");
      else if (error.isTransient) fault.value = t("state.away");
      else fault.value = Object.values(error.fields)[0] ?? error.message;
    } finally {
      isBusy.value = false;
    }
  }

  const message = left > 0 ? t("login.wait", { seconds: left }) : fault.value;
  return (
    <main class="login">
      <form onSubmit={submit} aria-labelledby="login-title">
        <p class="brand">
          <Icon name="tide" size={28} />
          {t("app.name")}
        </p>
        <h1 id="login-title" class="unseen">
          {t("login.title")}
        </h1>
        {isAgain && <p class="notice">{t("login.again")}</p>}
        <label class="field">
          <span class="name">{t("login.username")}</span>
          <input
            ref={first}
            class="input"
            name="username"
            autocomplete="username"
            autocapitalize="none"
            required
            defaultValue={me.value?.username ?? ""}
          />
        </label>
        <label class="field">
          <span class="name">{t("login.password")}</span>
          <input class="input" name="password" type="password" autocomplete="current-password" required />
        </label>
        {message !== null && (
          <p class="notice bad" role="alert">
            {message}
          </p>
        )}
        <button class="button main" type="submit" disabled={isBusy.value || left > 0}>
          {t("login.submit")}
        </button>
        {!isAgain && <p class="muted">{t("login.first")}</p>}
      </form>
    </main>
  );
}

/** Seconds until something may be tried again, counted down. */
function useCountdown(): { readonly left: number; wait(seconds: number): void } {
  const until = useSignal(0);
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 250);
    return () => clearInterval(timer);
  }, []);
  return {
    left: Math.max(0, Math.ceil((until.value - now.value) / 1000)),
    wait: (seconds) => {
      now.value = Date.now();
      until.value = now.value + seconds * 1000;
    },
  };
}
