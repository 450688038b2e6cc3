/** A policy: what it says of topics, and of which devices. */
import { call } from "../api.js";
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Bindings } from "../resources/Bindings.js";
import { boundDevices, device } from "../resources/resources.js";

interface PolicyRecord {
  readonly name: string;
  readonly topic: string;
  readonly access: number;
  readonly allow: number;
  readonly description: string | null;
}

export function Policy({ params: { id = "" } }: { readonly params: Readonly<Record<string, string>> }) {
  const path = `/policies/${encodeURIComponent(id)}`;
  const asked = useQuery(path, (signal) => call<PolicyRecord>("GET", path, { signal }));
  return (
    <QueryResult asked={asked}>
      {({ name, topic, access, allow, description }) => (
        <>
          <header>
            <div>
              <h1>{name}</h1>
              <p class="row muted">
                <span>{describeCode("allow", allow)}</span>
                <span>{describeCode("access", access)}</span>
                <code>{topic}</code>
                <span>{description}</span>
              </p>
            </div>
          </header>
          <h2>{t("nav.devices")}</h2>
          <Bindings
            resource={{ ...boundDevices, path: `${path}/devices` }}
            from={{ ...device, path: `/platform_select${path}/not_joined_devices` }}
            field="devicesIntID"
          />
        </>
      )}
    </QueryResult>
  );
}
