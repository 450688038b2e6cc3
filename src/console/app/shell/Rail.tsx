import { useRef } from "preact/hooks";
import { t } from "../i18n.js";
import { searchKeys } from "../keys/search-keys.js";
import { formatHref, path } from "../router.js";
import { overlay } from "../search/open.js";
import { me } from "../session.js";
import type { TextKey } from "../texts/texts.js";
import { Icon, type IconName } from "./icons.js";
import { useCurrentInSight } from "./use-current-in-sight.js";
import { You } from "./You.js";

interface Entry {
  readonly to: string;
  readonly icon: IconName;
  readonly text: TextKey;
}

/** The pages that the rail leads to. */
export const entries: readonly Entry[] = [
  { to: "/", icon: "overview", text: "nav.overview" },
  { to: "/devices", icon: "devices", text: "nav.devices" },
  { to: "/products", icon: "products", text: "nav.products" },
  { to: "/explore", icon: "explore", text: "nav.explore" },
  { to: "/dashboards", icon: "dashboards", text: "nav.dashboards" },
  { to: "/map", icon: "map", text: "nav.map" },
  { to: "/alerts", icon: "alerts", text: "nav.alerts" },
  { to: "/commands", icon: "commands", text: "nav.commands" },
  { to: "/messages", icon: "messages", text: "nav.messages" },
  { to: "/access", icon: "access", text: "nav.access" },
  { to: "/system", icon: "system", text: "nav.system" },
];

/** Records that have pages of their own are listed on one of these. */
const listedOn: Readonly<Record<string, string>> = {
  certs: "/access",
  "contact-points": "/alerts",
  gateways: "/devices",
  groups: "/devices",
  policies: "/access",
  streams: "/products",
};
const listedUnder = (at: string): string => listedOn[at.split("/")[1] ?? ""] ?? at;

export function Rail() {
  const here = listedUnder(path.value);
  const isHere = (to: string): boolean =>
    to === "/" ? here === "/" : here === to || here.startsWith(`${to}/`);
  const place = useRef<HTMLElement>(null);
  useCurrentInSight(place, entries.find(({ to }) => isHere(to))?.to);
  return (
    <nav class="rail" ref={place} aria-label={t("nav.label")}>
      <a class="brand" href={formatHref("/")}>
        <Icon name="tide" size={24} />
        <span class="word">{t("app.name")}</span>
      </a>
      <button
        type="button"
        class="find"
        aria-keyshortcuts="Control+K Meta+K"
        title={t("search.open")}
        onClick={() => {
          overlay.value = "search";
        }}
      >
        <Icon name="search" />
        <span class="word">{t("search.open")}</span>
        <kbd class="word">{searchKeys}</kbd>
      </button>
      <ul>
        {entries.map(({ to, icon, text }) => (
          <li key={to}>
            <a href={formatHref(to)} aria-current={isHere(to) ? "page" : undefined} title={t(text)}>
              <Icon name={icon} />
              <span class="word">{t(text)}</span>
            </a>
          </li>
        ))}
      </ul>
      {me.value !== null && (
        <>
          {/* On small screens the items that do not fit into the rail open beside it. */}
          <button type="button" class="open-you" popovertarget="you" title={me.value.username}>
            <Icon name="you" />
            <span class="unseen">{me.value.username}</span>
          </button>
          <You me={me.value} />
        </>
      )}
    </nav>
  );
}
