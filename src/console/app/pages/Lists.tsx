/** Pages that are lists of resources, one a tab. */
import { t } from "../i18n.js";
import { ResourceList } from "../resources/ResourceList.js";
import { type Resource, resources } from "../resources/resources.js";
import { isOperating, me } from "../session.js";
import type { TextKey } from "../texts/texts.js";
import { Tabs } from "./Tabs.js";

type Name = keyof typeof resources & string;

/** Asked again so often where what is shown changes by itself. */
const liveMs = 5000;
const living: ReadonlySet<Name> = new Set<Name>([...(["currentAlerts", "notifications"] as const)]);

function createListPage(title: TextKey, names: readonly Name[]) {
  return function ListPage() {
    const shown = names.filter((name) => {
      const { right, isOfDeployment }: Resource = resources[name];
      if (isOfDeployment === true) return isOperating();
      return right !== "admin" || me.value?.rights.includes("admin") === true;
    });
    const createContent = (name: Name) => (
      <ResourceList resource={resources[name]} {...(living.has(name) ? { everyMs: liveMs } : {})} />
    );
    const [only] = names;
    return (
      <>
        <header>
          <h1>{t(title)}</h1>
        </header>
        {names.length === 1 && only !== undefined ? (
          createContent(only)
        ) : (
          <Tabs
            tabs={shown.map((name) => ({
              name,
              title: t(resources[name].title),
              content: () => createContent(name),
            }))}
          />
        )}
      </>
    );
  };
}

export const Products = createListPage("nav.products", ["products"]);
export const Alerts = createListPage("nav.alerts", [
  ...(["currentAlerts", "historyAlerts", "alertRules", "contactPoints"] as const),
  ...(["alertRoutes", "silences", "notifications"] as const),
]);
export const Access = createListPage("nav.access", [
  ...(["users", "apiKeys", "policies", "certs", "changes", "tenants"] as const),
]);
