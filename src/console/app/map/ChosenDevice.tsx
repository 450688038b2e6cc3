/** The device that was chosen on a map: what it is, how it does, and the way to its page. */
import { call, type Page } from "../api.js";
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { formatHref, setQuery } from "../router.js";
import { Icon } from "../shell/icons.js";
import { Status } from "../shell/Status.js";
import { fetchPlaced } from "./placed-device.js";
import { placeText } from "./places.js";
import { statusTones, toneOfSeverity } from "./states.js";

interface Alert {
  readonly id: number;
  readonly alertName: string;
  readonly alertSeverity: number;
  readonly startTime: string;
}

const refreshMs = 5000;
const alertsMax = 5;

export function ChosenDevice({ id }: { readonly id: number }) {
  const asked = useQuery(`placed ${id}`, (signal) => fetchPlaced(id, signal), refreshMs);
  return (
    <section class="map-chosen" aria-label={asked.data?.name ?? String(id)}>
      <button
        type="button"
        class="button quiet map-close"
        aria-label={t("action.close")}
        onClick={() => setQuery({ device: undefined })}
      >
        <Icon name="close" size={14} />
      </button>
      <QueryResult asked={asked}>
        {({ name, deviceID, productName, status, latitude, longitude }) => (
          <>
            <h2 class="cut" title={name}>
              <a href={formatHref(`/devices/${id}`)}>{name}</a>
            </h2>
            <p class="row">
              <Status tone={statusTones[status] ?? "idle"} word={describeCode("deviceStatus", status)} />
              <span class="muted cut">{productName}</span>
            </p>
            <p class="mono muted">
              {latitude !== null && longitude !== null && placeText(latitude, longitude)}
            </p>
            <ChosenAlerts deviceID={deviceID} />
            <p class="row">
              <a class="button" href={formatHref(`/devices/${id}`)}>
                {t("map.toDevice")}
              </a>
              <a class="button" href={formatHref(`/devices/${id}`, { tab: "place" })}>
                {t("place.title")}
              </a>
            </p>
          </>
        )}
      </QueryResult>
    </section>
  );
}

function ChosenAlerts({ deviceID }: { readonly deviceID: string }) {
  const asked = useQuery(
    `alerts ${deviceID}`,
    (signal) =>
      call<Page<Alert>>("GET", "/current_alerts", { query: { deviceID, _limit: alertsMax }, signal }),
    refreshMs,
  );
  return (
    <QueryResult asked={asked}>
      {({ items, meta }) =>
        items.length === 0 ? (
          <p class="muted">{t("map.noAlerts")}</p>
        ) : (
          <>
            <ul class="place-list">
              {items.map(({ id, alertName, alertSeverity, startTime }) => (
                <li key={id}>
                  <span class="cut" title={alertName}>
                    {alertName}
                  </span>
                  <Status
                    tone={toneOfSeverity(alertSeverity)}
                    word={describeCode("alertSeverity", alertSeverity)}
                  />
                  <span class="mono muted">{startTime}</span>
                </li>
              ))}
            </ul>
            {meta.count > items.length && <p class="muted">{t("map.alertCount", { count: meta.count })}</p>}
          </>
        )
      }
    </QueryResult>
  );
}
