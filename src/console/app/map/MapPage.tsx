/** Where all devices are: closer ones as one mark, each with its worst state. */

import { useSignal } from "@preact/signals";
import { asCurl } from "../api.js";
import { t } from "../i18n.js";
import { query, setQuery } from "../router.js";
import { CopyButton } from "../shell/CopyButton.js";
import { Status, type Tone } from "../shell/Status.js";
import type { TextKey } from "../texts/texts.js";
import { ChosenDevice } from "./ChosenDevice.js";
import { fetchPlaces } from "./fetch-places.js";
import { PlaceMap } from "./LazyMaps.js";
import { PlaceFilter } from "./PlaceFilter.js";
import { PlaceList } from "./PlaceList.js";
import { type Places, parseMapView, viewText } from "./places.js";

export function MapPage() {
  const { at, product = "", group = "", device = "", as = "" } = query.value;
  const places = useSignal<Places | null>(null);
  const filters = { productIntID: product, groupIntID: group };
  const isList = as === "list";
  const chosen = /^\d+$/.test(device) ? Number(device) : null;
  const view = parseMapView(at);
  return (
    <>
      <header>
        <h1>{t("nav.map")}</h1>
        <div class="row narrowing">
          <PlaceFilter
            path="/products"
            label="productName"
            all={t("map.product")}
            value={product}
            onChoice={(value) => setQuery({ product: value }, { replace: false })}
          />
          <PlaceFilter
            path="/groups"
            label="groupName"
            all={t("map.group")}
            value={group}
            onChoice={(value) => setQuery({ group: value }, { replace: false })}
          />
          <button
            type="button"
            class="button"
            aria-pressed={isList}
            onClick={() => setQuery({ as: isList ? undefined : "list" }, { replace: false })}
          >
            {t("map.asList")}
          </button>
        </div>
      </header>
      <div class={`map-page ${isList || chosen !== null ? "beside" : ""}`}>
        <PlaceMap
          clusters={(bbox, zoom, signal) => fetchPlaces({ bbox, zoom, ...filters }, signal)}
          source={`places ${product} ${group}`}
          height="var(--map-height)"
          view={view}
          chosen={chosen}
          onOpen={(id) => setQuery({ device: String(id) }, { replace: false })}
          onView={(shown) => setQuery({ at: viewText(shown) })}
          onPlaces={(found) => {
            places.value = found;
          }}
          empty={product === "" && group === "" ? <HowToPlace /> : t("map.noMatch")}
        />
        {(isList || chosen !== null) && (
          <aside class="map-side">
            {chosen !== null && <ChosenDevice key={chosen} id={chosen} />}
            {isList && places.value !== null && <PlaceList places={places.value} />}
          </aside>
        )}
      </div>
      <Legend />
    </>
  );
}

const marks: readonly (readonly [Tone, TextKey])[] = [
  ["bad", "map.legendMajor"],
  ["warn", "map.legendMinor"],
  ["good", "map.legendGood"],
  ["idle", "map.legendIdle"],
];

function Legend() {
  return (
    <ul class="row map-legend" aria-label={t("map.legend")}>
      {marks.map(([tone, text]) => (
        <li key={tone}>
          <Status tone={tone} word={t(text)} />
        </li>
      ))}
    </ul>
  );
}

function HowToPlace() {
  const curl = asCurl("PUT", "/devices/1/location", {}, { longitude: 8.5417, latitude: 47.3769 });
  return (
    <>
      <p>
        <strong>{t("map.none")}</strong> {t("map.how")}
      </p>
      <pre class="secret">{curl}</pre>
      <CopyButton text={curl}>{t("action.copy")}</CopyButton>
    </>
  );
}
