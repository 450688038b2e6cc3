/** What the search can do besides finding: pages, and what is done without one. */
import { language, setLanguage, t } from "../i18n.js";
import { formatHref } from "../router.js";
import { me } from "../session.js";
import type { IconName } from "../shell/icons.js";
import { entries } from "../shell/Rail.js";
import { setTheme, theme } from "../theme.js";
import { overlay } from "./open.js";

interface Action {
  readonly key: string;
  readonly kind: "page" | "action";
  readonly icon: IconName;
  readonly text: string;
  /** The address that it leads to, or what it does. */
  readonly to: string | (() => void);
}

const languages = { en: "English", zh: "中文" } as const;

export function actionsNow(): readonly Action[] {
  const mayWrite = me.value?.rights.includes("write") === true;
  const act = (key: string, icon: IconName, text: string, to: Action["to"]): Action => ({
    ...{ key, icon, text, to },
    kind: "action",
  });
  return [
    ...entries.map(
      ({ to, icon, text }): Action => ({ key: to, kind: "page", icon, text: t(text), to: formatHref(to) }),
    ),
    ...(mayWrite
      ? [
          act("new product", "products", t("act.newProduct"), formatHref("/products", { new: "1" })),
          act(
            "new device",
            "devices",
            t("act.newDevice"),
            formatHref("/devices", { tab: "devices", new: "1" }),
          ),
        ]
      : []),
    ...(["light", "dark", "system"] as const)
      .filter((one) => one !== theme.value)
      .map((one) =>
        act(`theme ${one}`, "overview", t("act.theme", { theme: t(`theme.${one}`) }), () => setTheme(one)),
      ),
    ...(["en", "zh"] as const)
      .filter((one) => one !== language.value)
      .map((one) =>
        act(`language ${one}`, "messages", t("act.language", { language: languages[one] }), () =>
          setLanguage(one),
        ),
      ),
    act("password", "access", t("act.password"), () => {
      overlay.value = "password";
    }),
    act("keys", "commands", t("act.keys"), () => {
      overlay.value = "keys";
    }),
  ];
}

/** Those whose text has what is typed; those that begin so come first. */
export function matching(actions: readonly Action[], typed: string): readonly Action[] {
  const wanted = typed.trim().toLowerCase();
  const place = ({ text }: Action): number => text.toLowerCase().indexOf(wanted);
  return actions
    .filter((one) => place(one) >= 0)
    .sort((a, b) => Math.min(place(a), 1) - Math.min(place(b), 1));
}
