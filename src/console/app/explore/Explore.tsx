/** Values of any devices over any range: the page for queries that are on no dashboard. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { resolveSpan } from "../range/range.js";
import { query, setQuery } from "../router.js";
import { me } from "../session.js";
import { Controls } from "./Controls.js";
import { fetchCatalog } from "./catalog.js";
import { listChosen } from "./chosen.js";
import { DropFile } from "./DropFile.js";
import { DevicePicker, SeriesPicker } from "./SeriesPicker.js";
import { SeriesView } from "./SeriesView.js";
import { parseExploreState } from "./state.js";

const tickMs = 1000;

export function Explore() {
  const state = parseExploreState(query.value, me.value?.timezone ?? "UTC");
  const { devices, from, to, zone, isLive } = state;
  const now = useNow(isLive);
  const imported = useSignal(0);
  const span = resolveSpan({ start: from, end: to }, now.value, zone);
  const names = devices.join();
  const catalog = useQuery(`catalog ${names}`, (signal) => fetchCatalog(devices, signal));
  return (
    <>
      <header>
        <h1>{t("nav.explore")}</h1>
        <DevicePicker state={state} catalog={catalog.data} />
      </header>
      <Controls
        state={state}
        span={span}
        onRange={(start, end) => {
          now.value = Date.now();
          setQuery(
            { from: start, to: end, ...(end === "now" ? {} : { live: undefined }) },
            { replace: false },
          );
        }}
      />
      <DropFile
        onImported={() => {
          imported.value++;
        }}
      >
        {devices.length === 0 ? (
          <p class="notice">{t("explore.empty")}</p>
        ) : span === null ? (
          <p class="notice bad">{t("range.wrong")}</p>
        ) : (
          <QueryResult asked={catalog}>
            {(found) => (
              <>
                {found.unknown.map((id) => (
                  <p key={id} class="notice warn">
                    {t("explore.unknown", { id })}
                  </p>
                ))}
                <SeriesPicker state={state} catalog={found} />
                <SeriesView
                  state={state}
                  chosen={listChosen(found, state)}
                  span={span}
                  round={imported.value}
                  onRange={(first, last) =>
                    setQuery(
                      { from: String(Math.floor(first)), to: String(Math.ceil(last)), live: undefined },
                      { replace: false },
                    )
                  }
                />
              </>
            )}
          </QueryResult>
        )}
      </DropFile>
    </>
  );
}

/** What `now` means: it stands until it is asked for again, or runs. */
function useNow(isRunning: boolean) {
  const now = useSignal(Date.now());
  useEffect(() => {
    if (!isRunning) return;
    now.value = Date.now();
    const timer = setInterval(() => {
      now.value = Date.now();
    }, tickMs);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
}
