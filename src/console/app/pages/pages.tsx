/** Which page an address shows. */
import type { ComponentType, VNode } from "preact";
import { t } from "../i18n.js";
import { lazily } from "../lazy.js";
import { match } from "../router.js";

interface PageProps {
  /** The parts of the path that the pattern names. */
  readonly params: Readonly<Record<string, string>>;
}

interface PageEntry {
  readonly pattern: string;
  readonly Page: ComponentType<PageProps>;
}

const lists = () => import("./Lists.js");

const pages: readonly PageEntry[] = [
  { pattern: "/", Page: lazily(async () => (await import("./Overview.js")).Overview) },
  { pattern: "/start", Page: lazily(async () => (await import("./Start.js")).Start) },
  { pattern: "/explore", Page: lazily(async () => (await import("../explore/Explore.js")).Explore) },
  { pattern: "/devices", Page: lazily(async () => (await import("./Devices.js")).Devices) },
  { pattern: "/devices/:id", Page: lazily(async () => (await import("./Device.js")).Device) },
  { pattern: "/products", Page: lazily(async () => (await lists()).Products) },
  { pattern: "/products/:id", Page: lazily(async () => (await import("./Product.js")).Product) },
  {
    pattern: "/dashboards",
    Page: lazily(async () => (await import("../dashboards/DashboardList.js")).DashboardList),
  },
  {
    pattern: "/dashboards/:id",
    Page: lazily(async () => (await import("../dashboards/DashboardPage.js")).DashboardPage),
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

export function pageAt(path: string): VNode {
  for (const { pattern, Page } of pages) {
    const params = match(pattern, path);
    if (params !== null) return <Page key={path} params={params} />;
  }
  return <p class="notice">{t("state.notFound")}</p>;
}
