/** A group: its members, the commands and schedules sent to it, and the subscriptions of its members. */
import { call } from "../api.js";
import { CommandForm } from "../commands/CommandForm.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Bindings } from "../resources/Bindings.js";
import { ResourceList } from "../resources/ResourceList.js";
import { device, resources } from "../resources/resources.js";
import { Subscriptions } from "../resources/Subscriptions.js";
import { formatHref } from "../router.js";
import { me } from "../session.js";
import { Tabs } from "./Tabs.js";

interface GroupRecord {
  readonly id: number;
  readonly groupID: string;
  readonly groupName: string;
  readonly productID: string;
  readonly productIntID: number;
  readonly productName: string;
  readonly description: string | null;
}

const refreshMs = 2000;

export function Group({ params: { id = "" } }: { readonly params: Readonly<Record<string, string>> }) {
  const path = `/groups/${encodeURIComponent(id)}`;
  const asked = useQuery(path, (signal) => call<GroupRecord>("GET", path, { signal }));
  return (
    <QueryResult asked={asked}>
      {(group) => (
        <>
          <header>
            <div>
              <h1>{group.groupName}</h1>
              <p class="row muted">
                <code>{group.groupID}</code>
                <a href={formatHref(`/products/${group.productIntID}`)}>{group.productName}</a>
                <span>{group.description}</span>
              </p>
            </div>
          </header>
          <Tabs
            tabs={[
              { name: "members", title: t("nav.devices"), content: () => <Members group={group} /> },
              { name: "commands", title: t("nav.commands"), content: () => <GroupDetails group={group} /> },
              {
                name: "subscriptions",
                title: t("title.subscriptions"),
                content: () => <Subscriptions of={`/groups/${group.id}`} />,
              },
            ]}
          />
        </>
      )}
    </QueryResult>
  );
}

function Members({ group: { id, productID } }: { readonly group: GroupRecord }) {
  const { title, page } = resources.devices;
  const columns = ["deviceName", "deviceID", "createAt"];
  return (
    <Bindings
      resource={{ path: `/groups/${id}/devices`, title, page, columns }}
      from={{ ...device, scope: { productID } }}
    />
  );
}

function GroupDetails({ group: { id } }: { readonly group: GroupRecord }) {
  const { search: _, ...logs } = resources.controlLogs;
  const columns = ["topic", "payload", "publishStatus", "publishUser", "createAt", "updateAt"];
  return (
    <section>
      {me.value?.rights.includes("command") === true && (
        <CommandForm target={{ kind: "group", id: String(id) }} />
      )}
      <ResourceList resource={{ ...logs, path: `/groups/${id}/control_logs`, columns }} everyMs={refreshMs} />
    </section>
  );
}
