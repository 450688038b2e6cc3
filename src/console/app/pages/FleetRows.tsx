// biome-ignore-all lint/a11y/useSemanticElements: rows that are placed by themselves cannot be those of a table
// biome-ignore-all lint/a11y/useFocusableInteractive: rows are read, not chosen
/** Only visible rows are in the document. The others are empty space, and are fetched when they come into view. */
import { useEffect, useRef } from "preact/hooks";
import { call } from "../api.js";
import { isChosen, nothing, type Selection, withRow } from "../bulk/selection.js";
import { numberText } from "../charts/numbers.js";
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import { Failure } from "../query.js";
import { formatHref, remember, remembered } from "../router.js";
import { Status, type Tone } from "../shell/Status.js";
import { Moment, shownHeaders } from "../shown.js";
import { isSmallScreen } from "../small-screen.js";
import type { FleetAnswer, FleetRow } from "./fleet-answer.js";
import { useRowPages } from "./use-row-pages.js";
import { useRowWindow } from "./use-row-window.js";

interface FleetRowsProps {
  readonly first: FleetAnswer;
  readonly rowsAtOnce: number;
  readonly filters: Readonly<Record<string, string | undefined>>;
  /** Null: rows cannot be chosen. */
  readonly selection: Selection | null;
  onSelection(selection: Selection): void;
}

/** A row on a small screen has a second line. */
const [rowPixelsWide, rowPixelsSmall] = [38, 56];
/** The service jumps no further: beyond, a filter is needed. */
const [offsetMax, offsetMaxFiltered] = [200_000, 10_000];
/** CSS classes that place or hide a column on small screens. */
const classes = {
  "fleet.name": "name",
  "fleet.product": "aside",
  "fleet.status": "state",
  "fleet.seen": "aside",
  "nav.alerts": "alerts",
  "fleet.values": "newest",
} as const;
const columns = Object.keys(classes) as (keyof typeof classes)[];
const tones: readonly Tone[] = ["idle", "good", "warn"];

export function FleetRows({ first, rowsAtOnce, filters, selection, onSelection }: FleetRowsProps) {
  const isFiltered = Object.entries(filters).some(
    ([name, value]) => name !== "_sort" && (value ?? "") !== "",
  );
  const count = Math.min(first.count, (isFiltered ? offsetMaxFiltered : offsetMax) + rowsAtOnce);
  const rowPixels = isSmallScreen.value ? rowPixelsSmall : rowPixelsWide;
  const place = useRef<HTMLDivElement>(null);
  const keep = useKeptPlace(place, JSON.stringify(filters));
  const { first: from, end } = useRowWindow(place, count, rowPixels);
  const seen = Array.from({ length: end - from }, (_, i) => from + i);
  const wanted = [...new Set(seen.map((index) => Math.floor(index / rowsAtOnce)))];
  const { pageOf, failure, again } = useRowPages(first.items, wanted, async (page, signal) => {
    const { items } = await call<FleetAnswer>("GET", "/fleet", {
      query: { ...filters, _limit: rowsAtOnce, offset: page * rowsAtOnce },
      headers: shownHeaders(),
      signal,
    });
    return items;
  });
  return (
    <>
      {failure !== null && <Failure failure={failure} again={again} />}
      <div
        class={selection === null ? "fleet" : "fleet picks"}
        role="table"
        aria-rowcount={first.count + 1}
        aria-label={t("nav.devices")}
      >
        <div class="fleet-row head" role="row" aria-rowindex={1}>
          {selection !== null && (
            <span role="columnheader" class="pick">
              <input
                type="checkbox"
                aria-label={t("bulk.all", { count: first.count })}
                title={t(isFiltered ? "bulk.all" : "bulk.filterFirst", { count: first.count })}
                disabled={!isFiltered}
                checked={selection === "all"}
                onChange={(event) => onSelection(event.currentTarget.checked ? "all" : nothing)}
              />
            </span>
          )}
          {columns.map((key) => (
            <span key={key} role="columnheader" class={classes[key]}>
              {t(key)}
            </span>
          ))}
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it is scrolled by keys */}
        <div class="fleet-body" ref={place} tabIndex={0} role="rowgroup" onClickCapture={keep}>
          <div style={{ height: `${count * rowPixels}px`, position: "relative" }}>
            {seen.map((index) => (
              <div
                key={index}
                class="fleet-row"
                role="row"
                aria-rowindex={index + 2}
                style={{ transform: `translateY(${index * rowPixels}px)` }}
              >
                <Row
                  row={pageOf(Math.floor(index / rowsAtOnce))?.[index % rowsAtOnce]}
                  selection={selection}
                  onSelection={onSelection}
                />
              </div>
            ))}
          </div>
        </div>
      </div>
    </>
  );
}

const restMs = 150;

/** Restores the scroll position for a user who returns from a device. With other filters the rows begin at the top. */
function useKeptPlace(place: { readonly current: HTMLDivElement | null }, filters: string): () => void {
  const keep = (): void => {
    if (place.current !== null) remember("fleet", { filters, top: place.current.scrollTop });
  };
  const newest = useRef(keep);
  newest.current = keep;
  useEffect(() => {
    const body = place.current;
    if (body === null) return;
    const kept = remembered("fleet") as { readonly filters: string; readonly top: number } | undefined;
    if (kept?.filters === filters) body.scrollTop = kept.top;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onScroll = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => newest.current(), restMs);
    };
    body.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      clearTimeout(timer);
      body.removeEventListener("scroll", onScroll);
    };
  }, []);
  return keep;
}

interface RowProps extends Pick<FleetRowsProps, "selection" | "onSelection"> {
  readonly row: FleetRow | undefined;
}

function Row({ row, selection, onSelection }: RowProps) {
  if (row === undefined) return <span role="cell" class="muted" aria-busy="true" />;
  const { id, deviceName, deviceID, isGateway, productName, deviceStatus, blocked, lastSeen } = row;
  return (
    <>
      {selection !== null && (
        <span role="cell" class="pick">
          <input
            type="checkbox"
            aria-label={deviceName}
            checked={isChosen(selection, id)}
            onChange={(event) => onSelection(withRow(selection, id, event.currentTarget.checked))}
          />
        </span>
      )}
      <span role="cell" class="cut name">
        <a href={formatHref(`/${isGateway ? "gateways" : "devices"}/${id}`)}>{deviceName}</a>{" "}
        <code class="muted">{deviceID}</code>
      </span>
      <span role="cell" class="cut aside">
        {productName}
      </span>
      <span role="cell" class="state">
        {blocked === 1 ? (
          <Status tone="bad" word={t("device.blocked")} />
        ) : (
          <Status tone={tones[deviceStatus] ?? "idle"} word={describeCode("deviceStatus", deviceStatus)} />
        )}
      </span>
      <span role="cell" class="aside">
        <Moment at={lastSeen} />
      </span>
      <span role="cell" class="alerts">
        {row.currentAlerts > 0 && (
          <Status
            tone={(row.worstSeverity ?? 4) <= 2 ? "bad" : "warn"}
            word={`${row.currentAlerts} ${describeCode("alertSeverity", row.worstSeverity)}`}
          />
        )}
      </span>
      <span role="cell" class="cut newest">
        {row.values.map(({ dataPointIntID, dataPointName, value, unitSymbol }) => (
          <span key={dataPointIntID} class="value" title={dataPointName}>
            {typeof value === "number" ? numberText(value) : String(value)} {unitSymbol}
          </span>
        ))}
      </span>
    </>
  );
}
