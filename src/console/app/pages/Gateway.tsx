/** A gateway: the devices on it and what they measure, and of the gateway itself what a device's page has. */
import { call } from "../api.js";
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import { lazily } from "../lazy.js";
import { useLive } from "../live/live.js";
import { statusTones } from "../map/states.js";
import { DeviceMessages } from "../messages/DeviceMessages.js";
import { QueryResult, useQuery } from "../query.js";
import { ResourceList } from "../resources/ResourceList.js";
import { gatewayDevicesBeginning, resources } from "../resources/resources.js";
import { Subscriptions } from "../resources/Subscriptions.js";
import { formatHref } from "../router.js";
import { Status } from "../shell/Status.js";
import { shownHeaders } from "../shown.js";
import { CarriedValues } from "./CarriedValues.js";
import { DeviceAccess } from "./DeviceAccess.js";
import { DeviceCommands } from "./DeviceCommands.js";
import { DeviceValues } from "./DeviceValues.js";
import type { DeviceRecord } from "./device-record.js";
import { ProductLink } from "./ProductLink.js";
import { Tabs } from "./Tabs.js";

type OfDevicesAlone = "deviceName" | "productIntID" | "clientIP" | "connectedAt" | "gateway" | "gatewayName";
type GatewayRecord = Omit<DeviceRecord, OfDevicesAlone> & {
  readonly gatewayName: string;
  readonly gatewayProtocolLabel: string | null;
  readonly upLinkNetworkLabel: string | null;
};

const DevicePlace = lazily(async () => (await import("../map/DevicePlace.js")).DevicePlace);
const refreshMs = 5000;
/** The upLinkSystem of a device on a gateway. */
const throughGateway = 2;

export function Gateway({ params: { id = "" } }: { readonly params: Readonly<Record<string, string>> }) {
  const path = `/gateways/${encodeURIComponent(id)}`;
  const asked = useQuery(
    path,
    (signal) => call<GatewayRecord>("GET", path, { headers: shownHeaders(), signal }),
    refreshMs,
  );
  const deviceID = asked.data?.deviceID;
  useLive({ devices: deviceID === undefined ? [] : [deviceID], onPresence: () => asked.again() });
  return (
    <QueryResult asked={asked}>
      {(gateway) => (
        <>
          <header>
            <div>
              <h1>{gateway.gatewayName}</h1>
              <Facts gateway={gateway} />
            </div>
            <a class="button" href={formatHref("/explore", { d: gateway.deviceID })}>
              {t("nav.explore")}
            </a>
          </header>
          <Tabs tabs={listTabs(gateway)} />
        </>
      )}
    </QueryResult>
  );
}

function Facts({ gateway }: { readonly gateway: GatewayRecord }) {
  const { deviceStatus, gatewayProtocolLabel, upLinkNetworkLabel } = gateway;
  return (
    <p class="row muted">
      <Status tone={statusTones[deviceStatus] ?? "idle"} word={describeCode("deviceStatus", deviceStatus)} />
      <code>{gateway.deviceID}</code>
      <ProductLink {...gateway} />
      <span>{gatewayProtocolLabel}</span>
      <span>{upLinkNetworkLabel}</span>
      {gateway.blocked === 1 && <Status tone="bad" word={t("device.blocked")} />}
    </p>
  );
}

/** Named as those of a device: what leads to a tab of the one leads to that of the other. */
function listTabs(gateway: GatewayRecord): Parameters<typeof Tabs>[0]["tabs"] {
  const { id, deviceID } = gateway;
  return [
    { name: "now", title: t("device.now"), content: () => <Now gateway={gateway} /> },
    { name: "devices", title: t("nav.devices"), content: () => <CarriedDevices id={id} /> },
    { name: "messages", title: t("nav.messages"), content: () => <DeviceMessages device={gateway} /> },
    { name: "commands", title: t("nav.commands"), content: () => <DeviceCommands device={gateway} /> },
    {
      name: "alerts",
      title: t("nav.alerts"),
      content: () => (
        <ResourceList resource={resources.currentAlerts} within={{ deviceID }} everyMs={refreshMs} />
      ),
    },
    { name: "place", title: t("place.title"), content: () => <DevicePlace device={gateway} /> },
    {
      name: "subscriptions",
      title: t("title.subscriptions"),
      content: () => <Subscriptions of={`/devices/${id}`} />,
    },
    { name: "access", title: t("nav.access"), content: () => <DeviceAccess device={gateway} /> },
  ];
}

function Now({ gateway }: { readonly gateway: GatewayRecord }) {
  return (
    <>
      <h2>{t("gateway.carried")}</h2>
      <CarriedValues gateway={gateway.id} />
      <section class="part">
        <h2>{t("gateway.own")}</h2>
        <DeviceValues device={gateway} />
      </section>
    </>
  );
}

function CarriedDevices({ id }: { readonly id: number }) {
  const { beginning: _, ...list } = resources.devices;
  return (
    <ResourceList
      resource={{ ...list, beginning: gatewayDevicesBeginning(id) }}
      within={{ gateway: id }}
      besides={{ upLinkSystem: throughGateway }}
      everyMs={refreshMs}
    />
  );
}
