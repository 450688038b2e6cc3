/** What a map shows, as a list: the worst first. */
import { t } from "../i18n.js";
import { formatHref, query, setQuery } from "../router.js";
import { Status } from "../shell/Status.js";
import {
  byUrgency,
  type Cluster,
  type Places,
  parseMapView,
  placeText,
  viewText,
  zoomMax,
} from "./places.js";
import { chooseClusterTone, describeClusterState, nameCluster } from "./states.js";

const rowsMax = 200;
const stepIn = 2;

export function PlaceList({ places: { clusters, total } }: { readonly places: Places }) {
  const rows = [...clusters].sort(byUrgency);
  return (
    <section>
      <h2>{t("map.inView", { count: total })}</h2>
      <ul class="place-list">
        {rows.slice(0, rowsMax).map((cluster) => (
          <li key={cluster.deviceIntID ?? `${cluster.longitude} ${cluster.latitude}`}>
            <span class="cut">
              {cluster.deviceIntID === null ? (
                <button type="button" class="plain" onClick={() => goTo(cluster)}>
                  {nameCluster(cluster)}
                </button>
              ) : (
                <a href={formatHref(`/devices/${cluster.deviceIntID}`)}>{nameCluster(cluster)}</a>
              )}
            </span>
            <Status tone={chooseClusterTone(cluster)} word={describeClusterState(cluster)} />
            <span class="mono muted">{placeText(cluster.latitude, cluster.longitude)}</span>
          </li>
        ))}
      </ul>
      {rows.length > rowsMax && <p class="muted">{t("map.more", { count: rows.length - rowsMax })}</p>}
    </section>
  );
}

function goTo({ latitude, longitude }: Cluster): void {
  const zoom = Math.min((parseMapView(query.value.at)?.zoom ?? 1) + stepIn, zoomMax);
  setQuery({ at: viewText({ latitude, longitude, zoom }) }, { replace: false });
}
