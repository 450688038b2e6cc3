/** Where a device is, where it has been, and its areas: on one map, set by a click or typed. */
import { useSignal } from "@preact/signals";
import { isZone } from "../charts/zone.js";
import { t } from "../i18n.js";
import type { DeviceRecord } from "../pages/device-record.js";
import { QueryResult, useQuery } from "../query.js";
import { RangePicker } from "../range/RangePicker.js";
import { resolveSpan } from "../range/range.js";
import { ZonePicker } from "../range/ZonePicker.js";
import { query, setQuery } from "../router.js";
import { me } from "../session.js";
import { AreaEditor } from "./AreaEditor.js";
import type { Sketch } from "./Areas.js";
import { DeviceMap } from "./LazyMaps.js";
import { PlaceForm } from "./PlaceForm.js";
import { fetchPlaced, type Placed } from "./placed-device.js";
import type { LngLat } from "./places.js";
import { fetchTrack, TrackPanel } from "./TrackPanel.js";

const refreshMs = 10_000;

export function DevicePlace({ device }: { readonly device: Pick<DeviceRecord, "id"> }) {
  const asked = useQuery(`placed ${device.id}`, (signal) => fetchPlaced(device.id, signal), refreshMs);
  return (
    <QueryResult asked={asked}>
      {(placed) => <Place id={device.id} placed={placed} again={asked.again} />}
    </QueryResult>
  );
}

interface PlaceProps {
  readonly id: number;
  readonly placed: Placed;
  again(): void;
}

function Place({ id, placed, again }: PlaceProps) {
  const { from = "-24h", to = "now", tz = "" } = query.value;
  const zone = isZone(tz) ? tz : (me.value?.timezone ?? "UTC");
  const now = useSignal(Date.now());
  const span = resolveSpan({ start: from, end: to }, now.value, zone);
  const draft = useSignal<LngLat | null>(null);
  const sketch = useSignal<Sketch | null>(null);
  const cursor = useSignal<number | null>(null);
  const { longitude, latitude, scopes, isGateway } = placed;
  const place: LngLat | null = longitude === null || latitude === null ? null : [longitude, latitude];
  const mayWrite = me.value?.rights.includes("write") === true;
  const asked = useQuery(`track ${id} ${span?.from} ${span?.to}`, async (signal) =>
    span === null ? { positions: [], isTruncated: false } : fetchTrack(id, span, signal),
  );
  const track = asked.data?.positions ?? none;

  function pick(point: LngLat, reach: number): void {
    const drawn = sketch.value;
    if (drawn === null) draft.value = point;
    else if (drawn.shape === "polygon") sketch.value = { ...drawn, corners: [...drawn.corners, point] };
    else sketch.value = { ...drawn, corners: [point], radius: drawn.radius || Number(reach.toPrecision(2)) };
  }
  return (
    <div class="place-page">
      <div class="controls">
        <RangePicker
          from={from}
          to={to}
          span={span}
          zone={zone}
          onRange={(start, end) => {
            now.value = Date.now();
            cursor.value = null;
            setQuery({ from: start, to: end }, { replace: false });
          }}
        />
        <ZonePicker zone={zone} onZone={(tz) => setQuery({ tz })} />
      </div>
      <DeviceMap
        height="var(--map-part)"
        place={place}
        draft={draft.value}
        track={track}
        cursor={cursor.value}
        scopes={scopes}
        sketch={sketch.value}
        isPicking={mayWrite}
        fitKey={`${track.length} ${track[0]?.time} ${from} ${to}`}
        onPick={pick}
        onCursor={(index) => {
          cursor.value = index;
        }}
        over={
          place === null && track.length === 0 && asked.data !== undefined && <NoPlace mayWrite={mayWrite} />
        }
      />
      <aside class="map-side">
        <PlaceForm
          id={id}
          place={place}
          draft={draft.value}
          mayWrite={mayWrite}
          onDraft={(point) => {
            draft.value = point;
          }}
          onSaved={again}
        />
        <TrackPanel
          id={id}
          asked={asked}
          span={span}
          zone={zone}
          cursor={cursor.value}
          onCursor={(index) => {
            cursor.value = index;
          }}
        />
        {!isGateway && (
          <AreaEditor
            id={id}
            scopes={scopes}
            sketch={sketch.value}
            mayWrite={mayWrite}
            onSketch={(drawn) => {
              sketch.value = drawn;
            }}
            onSaved={again}
          />
        )}
      </aside>
    </div>
  );
}

const none: readonly never[] = [];

function NoPlace({ mayWrite }: { readonly mayWrite: boolean }) {
  return (
    <p class="map-over notice">
      {t("place.none")} {mayWrite && t("place.click")}
    </p>
  );
}
