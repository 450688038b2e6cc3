/** The newest values of the devices on a gateway, each device with all that it reports. */
import { call, type Page } from "../api.js";
import { numberText } from "../charts/numbers.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Pages } from "../resources/ResourceList.js";
import { formatHref, query } from "../router.js";
import { Status } from "../shell/Status.js";
import { Moment, shownHeaders } from "../shown.js";

interface Newest {
  readonly dataPointIntID: number;
  readonly dataPointName: string;
  readonly time: number | null;
  readonly value: unknown;
  /** Why there is no value. */
  readonly error?: string;
}

interface CarriedDevice {
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly deviceName: string;
  readonly data: readonly Newest[];
}

const rowsPerPage = 25;
const everyMs = 5000;

export function CarriedValues({ gateway }: { readonly gateway: number }) {
  const path = `/gateways/${gateway}/devices_data`;
  const asked = {
    _limit: rowsPerPage,
    _page: Math.max(1, Math.trunc(Number(query.value.page)) || 1),
  };
  const list = useQuery(
    `${path} ${asked._page}`,
    (signal) => call<Page<CarriedDevice>>("GET", path, { query: asked, headers: shownHeaders(), signal }),
    everyMs,
  );
  return (
    <QueryResult asked={list}>
      {({ items, meta }) =>
        items.length === 0 ? (
          <p class="notice">{t("gateway.noDevices")}</p>
        ) : (
          <>
            <div class="scroll">
              <table class="table stacked">
                <thead>
                  <tr>
                    <th>{t("explore.device")}</th>
                    <th class="wide">{t("fleet.values")}</th>
                    <th>{t("gateway.newest")}</th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((device) => (
                    <Row key={device.deviceIntID} {...device} />
                  ))}
                </tbody>
              </table>
            </div>
            {meta.count > rowsPerPage && <Pages {...meta} />}
          </>
        )
      }
    </QueryResult>
  );
}

function Row({ deviceIntID, deviceID, deviceName, data }: CarriedDevice) {
  const known = data.filter(({ time }) => time !== null);
  const newest = Math.max(...known.map(({ time }) => time ?? 0));
  const faults = [...new Set(data.flatMap(({ error }) => error ?? []))];
  return (
    <tr>
      <td>
        <a class="line" href={formatHref(`/devices/${deviceIntID}`)}>
          {deviceName}
        </a>{" "}
        <code class="muted line">{deviceID}</code>
      </td>
      <td>
        <ul class="carried">
          {known.map(({ dataPointIntID, dataPointName, value }) => (
            <li key={dataPointIntID}>
              <span class="muted">{dataPointName}</span> {valueText(value)}
            </li>
          ))}
        </ul>
        {known.length === 0 && faults.length === 0 && <span class="muted">–</span>}
        {faults.map((fault) => (
          <Status key={fault} tone="warn" word={fault} />
        ))}
      </td>
      <td>{known.length > 0 && <Moment at={newest} />}</td>
    </tr>
  );
}

function valueText(value: unknown): string {
  if (typeof value === "number") return numberText(value);
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
