/** How a device gets in: its credentials, and commands to try them with. */
import { useSignal } from "@preact/signals";
import { call } from "../api.js";
import { base } from "../base.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Bindings } from "../resources/Bindings.js";
import { cert, policy, resources } from "../resources/resources.js";
import { CopyButton } from "../shell/CopyButton.js";
import { DeviceSessions } from "./DeviceSessions.js";
import type { DeviceRecord } from "./device-record.js";
import { snippets } from "./snippets.js";

interface Brokers {
  readonly mqttBroker: string | null;
}

const bound = [
  ["policies", policy],
  ["certs", cert],
] as const;

interface DeviceAccessProps {
  readonly device: Pick<DeviceRecord, "id" | "deviceUsername" | "token">;
}

export function DeviceAccess({ device }: DeviceAccessProps) {
  const isShown = useSignal(false);
  const brokers = useQuery("brokers", (signal) => call<Brokers>("GET", "/broker_info", { signal }));
  const { deviceUsername, token } = device;
  return (
    <section class="form">
      <dl class="facts">
        <dt>{t("device.username")}</dt>
        <dd>
          <code>{deviceUsername}</code> <CopyButton text={deviceUsername}>{t("action.copy")}</CopyButton>
        </dd>
        {token !== null && (
          <>
            <dt>{t("device.token")}</dt>
            <dd>
              <code>{isShown.value ? token : "••••••••"}</code>{" "}
              <button
                type="button"
                class="button quiet"
                aria-pressed={isShown.value}
                onClick={() => {
                  isShown.value = !isShown.value;
                }}
              >
                {t(isShown.value ? "action.hide" : "action.show")}
              </button>
              <CopyButton text={token}>{t("action.copy")}</CopyButton>
            </dd>
          </>
        )}
      </dl>
      {token !== null && (
        <QueryResult asked={brokers}>
          {({ mqttBroker }) => (
            <div class="form">
              {snippets({ username: deviceUsername, token, mqttBroker, http: location.origin + base }).map(
                ({ name, text }) => (
                  <figure key={name}>
                    <figcaption class="row spread">
                      {name} <CopyButton text={text}>{t("action.copy")}</CopyButton>
                    </figcaption>
                    <pre class="secret">{isShown.value ? text : text.replaceAll(token, "••••••••")}</pre>
                  </figure>
                ),
              )}
            </div>
          )}
        </QueryResult>
      )}
      <DeviceSessions id={device.id} />
      {bound.map(([name, from]) => (
        <div key={name} class="part">
          <h2>{t(resources[name].title)}</h2>
          <Bindings
            resource={{ ...resources[name], path: `/devices/${device.id}/${name}` }}
            from={from}
            pageParameter={`${name}.page`}
          />
        </div>
      ))}
    </section>
  );
}
