/** Which page an address shows. */
import type { VNode } from "preact";
import { Chart } from "../charts/LazyChart.js";
import { t } from "../i18n.js";
import { type LazyPart, lazily } from "../lazy.js";
import { match } from "../router.js";

interface PageProps {
  /** The parts of the path that the pattern names. */
  readonly params: Readonly<Record<string, string>>;
}

interface PageEntry {
  readonly pattern: string;
  readonly Page: LazyPart<PageProps>;
  /** Further lazy parts that the page always shows. */
  readonly parts?: readonly Pick<LazyPart<never>, "preload">[];
}

const lists = () => import("./Lists.js");

const pages: readonly PageEntry[] = [
  { pattern: "/", Page: lazily(async () => (await import("./Overview.js")).Overview) },
  { pattern: "/start", Page: lazily(async () => (await import("./Start.js")).Start) },
  {
    pattern: "/explore",
    Page: lazily(async () => (await import("../explore/Explore.js")).Explore),
    parts: [Chart],
  },
  { pattern: "/devices", Page: lazily(async () => (await import("./Devices.js")).Devices) },
  { pattern: "/devices/:id", Page: lazily(async () => (await import("./Device.js")).Device) },
  { pattern: "/gateways/:id", Page: lazily(async () => (await import("./Gateway.js")).Gateway) },
  { pattern: "/products", Page: lazily(async () => (await lists()).Products) },
  { pattern: "/products/:id", Page: lazily(async () => (await import("./Product.js")).Product) },
  { pattern: "/streams/:id", Page: lazily(async () => (await import("../streams/Stream.js")).Stream) },
  {
    pattern: "/dashboards",
    Page: lazily(async () => (await import("../dashboards/DashboardList.js")).DashboardList),
  },
  {
    pattern: "/dashboards/:id",
    Page: lazily(async () => (await import("../dashboards/DashboardPage.js")).DashboardPage),
    parts: [Chart],
  },
  { pattern: "/alerts", Page: lazily(async () => (await lists()).Alerts) },
  {
    pattern: "/commands",
    Page: lazily(async () => (await import("../commands/CommandsPage.js")).CommandsPage),
  },
  { pattern: "/map", Page: lazily(async () => (await import("../map/MapPage.js")).MapPage) },
  { pattern: "/messages", Page: lazily(async () => (await import("../messages/Messages.js")).Messages) },
  { pattern: "/system", Page: lazily(async () => (await import("../system/System.js")).System) },
  {
    pattern: "/contact-points/:id",
    Page: lazily(async () => (await import("./ContactPoint.js")).ContactPoint),
  },
  { pattern: "/groups/:id", Page: lazily(async () => (await import("./Group.js")).Group) },
  { pattern: "/policies/:id", Page: lazily(async () => (await import("./Policy.js")).Policy) },
  { pattern: "/certs/:id", Page: lazily(async () => (await import("./Cert.js")).Cert) },
  { pattern: "/access", Page: lazily(async () => (await lists()).Access) },
];

function entryAt(path: string): (PageEntry & Pick<PageProps, "params">) | null {
  for (const entry of pages) {
    const params = match(entry.pattern, path);
    if (params !== null) return { ...entry, params };
  }
  return null;
}

/** Has the files of a page on their way while it is not known yet who is logged in. */
export function preloadPage(path: string): void {
  const entry = entryAt(path);
  for (const part of [entry?.Page, ...(entry?.parts ?? [])]) part?.preload();
}

export function pageAt(path: string): VNode {
  const entry = entryAt(path);
  if (entry === null) return <p class="notice">{t("state.notFound")}</p>;
  const { Page, params } = entry;
  return <Page key={path} params={params} />;
}
