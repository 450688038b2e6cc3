/** The pages that are shown, by the names of their files. */
import type { Scene } from "./scene.js";

export const loginPage = "login";

/** Paths below /console. */
export function pagesOf({
  devices,
  productIntID,
  dashboards,
  others,
}: Scene): Readonly<Record<string, string>> {
  const of = (prefix: string) => devices.get(prefix);
  const device = (prefix: string) => `/devices/${of(prefix)?.id}`;
  return {
    overview: "/",
    devices: "/devices",
    "devices-with-alerts": "/devices?alert=1&sort=-lastSeen",
    device: device("cold"),
    "device-messages": `${device("pump")}?tab=messages`,
    "device-commands": `${device("pump")}?tab=commands`,
    "device-access": `${device("pump")}?tab=access`,
    gateway: `/gateways/${others.gateway}`,
    "gateway-devices": `/gateways/${others.gateway}?tab=devices`,
    group: `/groups/${others.group}`,
    products: "/products",
    product: `/products/${productIntID}`,
    stream: `/streams/${others.stream}`,
    start: "/start",
    explore: `/explore?d=${of("cold")?.deviceID}&from=-24h`,
    "explore-year": `/explore?d=${of("mast")?.deviceID}&p=temperature&u=day&from=-1y`,
    alerts: "/alerts",
    "alerts-history": "/alerts?tab=historyAlerts",
    "alert-rules": "/alerts?tab=alertRules",
    "contact-point": `/contact-points/${others.contactPoint}`,
    commands: "/commands",
    messages: "/messages",
    connections: "/messages?tab=connectLogs",
    "set-aside": "/messages?tab=setAside",
    map: "/map",
    dashboards: "/dashboards",
    "dashboard-weather": `/dashboards/${dashboards.weather}`,
    "dashboard-fleet": `/dashboards/${dashboards.fleet}`,
    access: "/access",
    changes: "/access?tab=changes",
    tenants: "/access?tab=tenants",
    policy: `/policies/${others.policy}`,
    cert: `/certs/${others.cert}`,
    system: "/system",
  };
}

/** What README shows. */
export const readmePages = ["devices", "dashboard-weather"] as const;
