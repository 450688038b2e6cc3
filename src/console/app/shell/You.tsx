import { useSignal } from "@preact/signals";
import { asFailure } from "../api.js";
import { language, setLanguage, t } from "../i18n.js";
import { overlay } from "../search/open.js";
import { logOut, type Me } from "../session.js";
import { setTheme, type Theme, theme } from "../theme.js";

const themes: readonly Theme[] = ["system", "light", "dark"];

/** The user who is logged in, with the choices that are only about this browser. */
export function You({ me }: { readonly me: Me }) {
  const { failure, isBusy, leave } = useLogOut();
  return (
    <div class="you" id="you" popover="auto">
      <span class="word">
        {me.username} <span class="muted">{me.role}</span>
      </span>
      <select
        class="input"
        aria-label={t("user.language")}
        value={language.value}
        onChange={(event) => setLanguage(event.currentTarget.value === "zh" ? "zh" : "en")}
      >
        <option value="en">English</option>
        <option value="zh">中文</option>
      </select>
      <select
        class="input"
        aria-label={t("user.theme")}
        value={theme.value}
        onChange={(event) => setTheme(themes.find((one) => one === event.currentTarget.value) ?? "system")}
      >
        {themes.map((one) => (
          <option key={one} value={one}>
            {t(`theme.${one}`)}
          </option>
        ))}
      </select>
      <button
        class="button"
        type="button"
        title={t("act.password")}
        onClick={() => {
          overlay.value = "password";
        }}
      >
        {t("user.password")}
      </button>
      {failure !== null && (
        <p class="notice bad" role="alert">
          {t("user.stays", { reason: failure })}
        </p>
      )}
      <button class="button" type="button" disabled={isBusy} onClick={() => void leave()}>
        {t(failure === null ? "user.logout" : "user.logoutAgain")}
      </button>
    </div>
  );
}

function useLogOut() {
  const failure = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  async function leave(): Promise<void> {
    isBusy.value = true;
    failure.value = null;
    try {
      await logOut();
    } catch (error) {
      const found = asFailure(error);
      failure.value = found.isAway ? t("user.noAnswer") : found.message;
    } finally {
      isBusy.value = false;
    }
  }
  return { failure: failure.value, isBusy: isBusy.value, leave };
}
