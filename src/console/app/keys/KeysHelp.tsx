/** The keys, and what each does. */
import { t } from "../i18n.js";
import { closeOverlay } from "../search/open.js";
import { Dialog } from "../shell/Dialog.js";
import { entries } from "../shell/Rail.js";
import { places } from "./keys.js";
import { searchKeys } from "./search-keys.js";

export function KeysHelp() {
  const pages = Object.entries(places).flatMap(([key, to]) => {
    const entry = entries.find((one) => one.to === to);
    return entry === undefined ? [] : [[`g ${key}`, t("keys.go", { page: t(entry.text) })] as const];
  });
  const keys: readonly (readonly [keys: string, what: string])[] = [
    [searchKeys, t("keys.search")],
    ["/", t("keys.filter")],
    ...pages,
    ["t", t("keys.range")],
    ["z", t("keys.zone")],
    ["l", t("keys.live")],
    ["e", t("keys.edit")],
    ["[ ]", t("keys.shift")],
    ["← →", t("keys.along")],
    ["+ −", t("keys.zoom")],
    ["?", t("keys.help")],
  ];
  return (
    <Dialog name={t("keys.title")} class="keys" onClose={closeOverlay}>
      <h2>{t("keys.title")}</h2>
      <dl>
        {keys.map(([key, what]) => (
          <div key={key} class="pair">
            <dt>
              {key.split(" ").map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <p>
        <button type="button" class="button" onClick={closeOverlay}>
          {t("action.close")}
        </button>
      </p>
    </Dialog>
  );
}
