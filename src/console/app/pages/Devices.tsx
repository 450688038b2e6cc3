/** The fleet, and what is made and edited of it. */
import { t } from "../i18n.js";
import { ResourceList } from "../resources/ResourceList.js";
import { resources } from "../resources/resources.js";
import { Fleet } from "./Fleet.js";
import { Tabs } from "./Tabs.js";

const lists = ["devices", "gateways", "groups"] as const;

export function Devices() {
  return (
    <>
      <header>
        <h1>{t("nav.devices")}</h1>
      </header>
      <Tabs
        tabs={[
          { name: "fleet", title: t("fleet.title"), content: () => <Fleet /> },
          ...lists.map((name) => ({
            name: name as string,
            title: name === "devices" ? t("fleet.edit") : t(resources[name].title),
            content: () => <ResourceList resource={resources[name]} />,
          })),
        ]}
      />
    </>
  );
}
