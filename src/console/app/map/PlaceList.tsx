/** What a map shows, as a list: the worst first. */
import { t } from "../i18n.js";
import { hrefOf, query, setQuery } from "../router.js";
import { Status } from "../shell/Status.js";
import { byUrgency, type Cluster, type Places, placeText, viewOf, viewText, zoomMax } from "./places.js";
import { nameOf, stateOf, toneOf } from "./states.js";

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
                  {nameOf(cluster)}
                </button>
              ) : (
                <a href={hrefOf(`/devices/${cluster.deviceIntID}`)}>{nameOf(cluster)}</a>
              )}
            </span>
            <Status tone={toneOf(cluster)} word={stateOf(cluster)} />
            <span class="mono muted">{placeText(cluster.latitude, cluster.longitude)}</span>
          </li>
        ))}
      </ul>
      {rows.length > rowsMax && <p class="muted">{t("map.more", { count: rows.length - rowsMax })}</p>}
    </section>
  );
}

function goTo({ latitude, longitude }: Cluster): void {
  const zoom = Math.min((viewOf(query.value.at)?.zoom ?? 1) + stepIn, zoomMax);
  setQuery({ at: viewText({ latitude, longitude, zoom }) }, { replace: false });
}
