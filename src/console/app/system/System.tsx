/** How the service does, what runs in its background, and how data come in and out of it. */
import { Backups } from "../backups/Backups.js";
import { t } from "../i18n.js";
import { Tabs } from "../pages/Tabs.js";
import { isOperating } from "../session.js";
import { Health } from "./Health.js";
import { Tasks } from "./Tasks.js";
import { Transfer } from "./Transfer.js";

export function System() {
  return (
    <>
      <header>
        <h1>{t("nav.system")}</h1>
      </header>
      <Tabs
        tabs={[
          { name: "health", title: t("system.health"), content: () => <Health /> },
          { name: "tasks", title: t("system.tasks"), content: () => <Tasks /> },
          { name: "transfer", title: t("system.transfer"), content: () => <Transfer /> },
          ...(isOperating()
            ? [{ name: "backups", title: t("system.backups"), content: () => <Backups /> }]
            : []),
        ]}
      />
    </>
  );
}
