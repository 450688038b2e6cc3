import { t } from "../i18n.js";
import { lazily } from "../lazy.js";
import { pageAt } from "../pages/pages.js";
import { path } from "../router.js";
import { overlay } from "../search/open.js";
import { Palette } from "../search/Palette.js";
import { sessionState } from "../session.js";
import { Away } from "./Away.js";
import { Login } from "./Login.js";
import { LoginAgain } from "./LoginAgain.js";
import { Rail } from "./Rail.js";

const KeysHelp = lazily(async () => (await import("../keys/KeysHelp.js")).KeysHelp);
const OwnPassword = lazily(async () => (await import("./OwnPassword.js")).OwnPassword);

export function App() {
  const state = sessionState.value;
  if (state === "asking") return null;
  if (state === "away") return <p class="notice warn">{t("state.away")}</p>;
  if (state === "out") return <Login isAgain={false} />;
  return (
    <>
      <a class="skip" href="#page">
        {t("nav.skip")}
      </a>
      <div class="shell">
        <Rail />
        <div class="beside">
          <Away />
          <main class="page" id="page" tabIndex={-1}>
            {pageAt(path.value)}
          </main>
        </div>
      </div>
      {overlay.value === "search" && <Palette />}
      {overlay.value === "keys" && <KeysHelp />}
      {overlay.value === "password" && <OwnPassword />}
      {state === "ended" && <LoginAgain />}
    </>
  );
}
