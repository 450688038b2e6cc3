/** A device: its current values, its messages, the commands sent to it, and its credentials. */
import { ApiFailure, call } from "../api.js";
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import { lazily } from "../lazy.js";
import { useLive } from "../live/live.js";
import { statusTones } from "../map/states.js";
import { DeviceMessages } from "../messages/DeviceMessages.js";
import { QueryResult, useQuery } from "../query.js";
import { ResourceList } from "../resources/ResourceList.js";
import { resources } from "../resources/resources.js";
import { Subscriptions } from "../resources/Subscriptions.js";
import { formatHref, goTo, query } from "../router.js";
import { Status } from "../shell/Status.js";
import { momentText, shownHeaders } from "../shown.js";
import { DeviceAccess } from "./DeviceAccess.js";
import { DeviceCommands } from "./DeviceCommands.js";
import { DeviceValues } from "./DeviceValues.js";
import type { DeviceRecord } from "./device-record.js";
import { Tabs } from "./Tabs.js";

const DevicePlace = lazily(async () => (await import("../map/DevicePlace.js")).DevicePlace);
const refreshMs = 5000;
const notFound = 404;

/** Events about a gateway name it as a device: their links are redirected to the gateway's own page. */
async function fetchDevice(id: string, signal: AbortSignal): Promise<DeviceRecord> {
  const named = encodeURIComponent(id);
  try {
    return await call<DeviceRecord>("GET", `/devices/${named}`, { headers: shownHeaders(), signal });
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== notFound) throw error;
    await call("GET", `/gateways/${named}`, { signal });
    goTo(formatHref(`/gateways/${named}`, query.value), { replace: true });
    throw error;
  }
}

export function Device({ params: { id = "" } }: { readonly params: Readonly<Record<string, string>> }) {
  const asked = useQuery(`/devices/${id}`, (signal) => fetchDevice(id, signal), refreshMs);
  const deviceID = asked.data?.deviceID;
  useLive({ devices: deviceID === undefined ? [] : [deviceID], onPresence: () => asked.again() });
  return (
    <QueryResult asked={asked}>
      {(device) => (
        <>
          <header>
            <div>
              <h1>{device.deviceName}</h1>
              <p class="row muted">
                <Status
                  tone={statusTones[device.deviceStatus] ?? "idle"}
                  word={describeCode("deviceStatus", device.deviceStatus)}
                />
                <code>{device.deviceID}</code>
                <a href={formatHref(`/products/${device.productIntID}`)}>{device.productName}</a>
                {device.gateway !== null && (
                  <span>
                    {t("device.through")}{" "}
                    <a href={formatHref(`/gateways/${device.gateway}`)}>
                      {device.gatewayName ?? device.gateway}
                    </a>
                  </span>
                )}
                {device.blocked === 1 && <Status tone="bad" word={t("device.blocked")} />}
                {device.clientIP !== null && (
                  <span>
                    {t("device.connected", {
                      ip: device.clientIP,
                      at: device.connectedAt === null ? "–" : momentText(device.connectedAt),
                    })}
                  </span>
                )}
              </p>
            </div>
            <a class="button" href={formatHref("/explore", { d: device.deviceID })}>
              {t("nav.explore")}
            </a>
          </header>
          <Tabs
            tabs={[
              { name: "now", title: t("device.now"), content: () => <DeviceValues device={device} /> },
              {
                name: "messages",
                title: t("nav.messages"),
                content: () => <DeviceMessages device={device} />,
              },
              {
                name: "commands",
                title: t("nav.commands"),
                content: () => <DeviceCommands device={device} />,
              },
              {
                name: "alerts",
                title: t("nav.alerts"),
                content: () => (
                  <ResourceList
                    resource={resources.currentAlerts}
                    within={{ deviceID: device.deviceID }}
                    everyMs={refreshMs}
                  />
                ),
              },
              { name: "place", title: t("place.title"), content: () => <DevicePlace device={device} /> },
              {
                name: "subscriptions",
                title: t("title.subscriptions"),
                content: () => <Subscriptions of={`/devices/${device.id}`} />,
              },
              { name: "access", title: t("nav.access"), content: () => <DeviceAccess device={device} /> },
            ]}
          />
        </>
      )}
    </QueryResult>
  );
}
