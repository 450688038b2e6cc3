import { t } from "../i18n.js";
import { pageAt } from "../pages/pages.js";
import { path } from "../router.js";
import { sessionState } from "../session.js";
import { Away } from "./Away.js";
import { Login } from "./Login.js";
import { Rail } from "./Rail.js";

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
      <div class="shell" inert={state === "ended"}>
        <Rail />
        <div class="beside">
          <Away />
          <main class="page" id="page" tabIndex={-1}>
            {pageAt(path.value)}
          </main>
        </div>
      </div>
      {state === "ended" && (
        <div class="overlay">
          <Login isAgain={true} />
        </div>
      )}
    </>
  );
}
