/** Commands to devices: those sent now, and those sent by schedules. */
import { t } from "../i18n.js";
import { Tabs } from "../pages/Tabs.js";
import { ResourceList } from "../resources/ResourceList.js";
import { resources } from "../resources/resources.js";
import { query, setQuery } from "../router.js";
import { me } from "../session.js";
import { CommandForm } from "./CommandForm.js";
import { targetKinds } from "./command.js";
import { publishTypes } from "./schedule.js";
import { TargetFields } from "./TargetFields.js";

const liveMs = 2000;

const schedules = [
  ["deviceSchedules", publishTypes.device],
  ["groupSchedules", publishTypes.group],
] as const;

export function CommandsPage() {
  return (
    <>
      <header>
        <h1>{t("nav.commands")}</h1>
      </header>
      <Tabs
        tabs={[
          { name: "sent", title: t("title.controlLogs"), content: () => <Sent /> },
          ...schedules.map(([name, publishType]) => ({
            name: name as string,
            title: `${t("title.schedules")}: ${t(resources[name].title)}`,
            content: () => <ResourceList resource={resources[name]} within={{ publishType }} />,
          })),
        ]}
      />
    </>
  );
}

function Sent() {
  const { to, id = "" } = query.value;
  const target = { kind: targetKinds.find((one) => one === to) ?? "device", id };
  return (
    <section>
      {me.value?.rights.includes("command") === true && (
        <CommandForm target={target}>
          <TargetFields
            target={target}
            onTarget={(chosen) =>
              setQuery({ to: chosen.kind === "device" ? undefined : chosen.kind, id: chosen.id })
            }
          />
        </CommandForm>
      )}
      <ResourceList resource={resources.controlLogs} everyMs={liveMs} />
    </section>
  );
}
