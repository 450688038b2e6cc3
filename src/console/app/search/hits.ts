/** What GET /search finds, and where each hit leads. */
import { call, type Page } from "../api.js";
import { formatHref } from "../router.js";
import type { IconName } from "../shell/icons.js";

export interface Hit {
  readonly type:
    | "product"
    | "device"
    | "gateway"
    | "group"
    | "dataPoint"
    | "alertRule"
    | "dashboard"
    | "user";
  readonly id: number;
  readonly name: string;
  readonly detail: string | null;
}

/** Characters that a search may have. */
const textMax = 100;

export async function findHits(text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const q = [...text.trim()].slice(0, textMax).join("");
  return q === "" ? [] : await call<readonly Hit[]>("GET", "/search", { query: { q }, signal });
}

export const iconOf: Readonly<Record<Hit["type"], IconName>> = {
  product: "products",
  device: "devices",
  gateway: "devices",
  group: "devices",
  dataPoint: "explore",
  alertRule: "alerts",
  dashboard: "dashboards",
  user: "access",
};

/** Where a record without a page of its own is shown: in its list, found by its name. */
export async function hrefOfHit({ type, id, name }: Hit): Promise<string> {
  switch (type) {
    case "product":
      return formatHref(`/products/${id}`);
    case "device":
      return formatHref(`/devices/${id}`);
    case "dashboard":
      return formatHref(`/dashboards/${id}`);
    case "gateway":
      return formatHref(`/gateways/${id}`);
    case "group":
      return formatHref(`/groups/${id}`);
    case "alertRule":
      return formatHref("/alerts", { tab: "alertRules", q: name });
    case "user":
      return formatHref("/access", { tab: "users" });
    case "dataPoint": {
      const { productID } = await call<{ productID: string }>("GET", `/data_points/${id}`);
      // A string id of digits alone would be taken for a record id where it stands in a path.
      const { items } = await call<Page<{ id: number }>>("GET", "/products", { query: { productID } });
      return formatHref(`/products/${items[0]?.id ?? productID}`, { tab: "dataPoints", q: name });
    }
  }
}
