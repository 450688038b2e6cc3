/** What all devices say: as it comes, as it was, and how they come and go. */
import { t } from "../i18n.js";
import { lazily } from "../lazy.js";
import { Tabs } from "../pages/Tabs.js";
import { ResourceList } from "../resources/ResourceList.js";
import { resources } from "../resources/resources.js";
import { isOperating } from "../session.js";
import { Firehose } from "./Firehose.js";
import { MessageHistory } from "./MessageHistory.js";

const SetAside = lazily(async () => (await import("./DeadLetters.js")).DeadLetters);
const refreshMs = 5000;

export function Messages() {
  return (
    <>
      <header>
        <h1>{t("nav.messages")}</h1>
      </header>
      <Tabs
        tabs={[
          { name: "live", title: t("message.live"), content: () => <Firehose /> },
          {
            name: "history",
            title: t("message.history"),
            content: () => <MessageHistory device={null} everyMs={refreshMs} />,
          },
          {
            name: "connectLogs",
            title: t(resources.connectLogs.title),
            content: () => <ResourceList resource={resources.connectLogs} everyMs={refreshMs} />,
          },
          ...(isOperating()
            ? [{ name: "setAside", title: t("aside.title"), content: () => <SetAside /> }]
            : []),
        ]}
      />
    </>
  );
}
