/** The track over a range: how long it is, and at which time the device was where. */

import { asCurl, fetchResponse, readJson } from "../api.js";
import { wallText } from "../charts/zone.js";
import { t } from "../i18n.js";
import type { useQuery } from "../query.js";
import { QueryResult } from "../query.js";
import { CopyButton } from "../shell/CopyButton.js";
import { placeText } from "./places.js";
import { lengthText, measureTrack, type Position } from "./track.js";

interface Span {
  readonly from: number;
  readonly to: number;
}

interface Track {
  readonly positions: readonly Position[];
  /** Older ones are left out. */
  readonly isTruncated: boolean;
}

const path = "/device_track";
const createTrackQuery = (id: number, { from, to }: Span) => ({
  deviceIntID: id,
  startTime: Math.floor(from),
  endTime: Math.ceil(to),
  timeFormat: "ms",
});

/** @throws ApiFailure */
export async function fetchTrack(id: number, span: Span, signal: AbortSignal): Promise<Track> {
  const answer = await fetchResponse("GET", path, { query: createTrackQuery(id, span), signal });
  const positions = (await readJson(answer, signal)) as readonly Position[];
  return { positions, isTruncated: answer.headers.get("truncated") === "true" };
}

interface TrackPanelProps {
  readonly id: number;
  readonly asked: ReturnType<typeof useQuery<Track>>;
  readonly span: Span | null;
  readonly zone: string;
  readonly cursor: number | null;
  onCursor(index: number): void;
}

export function TrackPanel({ id, asked, span, zone, cursor, onCursor }: TrackPanelProps) {
  return (
    <section class="form">
      <h2>{t("place.track")}</h2>
      {span === null ? (
        <p class="notice bad">{t("range.wrong")}</p>
      ) : (
        <QueryResult asked={asked}>
          {(track) => (
            <>
              <Positions {...track} zone={zone} cursor={cursor} onCursor={onCursor} />
              <p class="row">
                <CopyButton text={asCurl("GET", path, createTrackQuery(id, span))}>
                  {t("action.curl")}
                </CopyButton>
              </p>
            </>
          )}
        </QueryResult>
      )}
    </section>
  );
}

interface PositionsProps extends Track {
  readonly zone: string;
  readonly cursor: number | null;
  onCursor(index: number): void;
}

function Positions({ positions, isTruncated, zone, cursor, onCursor }: PositionsProps) {
  const [first, last] = [positions[0], positions.at(-1)];
  if (first === undefined || last === undefined) return <p class="muted">{t("place.noTrack")}</p>;
  const at = Math.min(cursor ?? positions.length - 1, positions.length - 1);
  const looked = positions[at] ?? last;
  const text = `${wallText(zone, looked.time)}, ${placeText(looked.lnglat[1], looked.lnglat[0])}`;
  return (
    <>
      {isTruncated && <p class="notice warn">{t("place.truncated", { count: positions.length })}</p>}
      <dl class="facts">
        <dt>{t("place.first")}</dt>
        <dd class="mono">{wallText(zone, first.time)}</dd>
        <dt>{t("place.last")}</dt>
        <dd class="mono">{wallText(zone, last.time)}</dd>
        <dt>{t("place.positions")}</dt>
        <dd class="mono">{positions.length}</dd>
        <dt>{t("place.length")}</dt>
        <dd class="mono">{lengthText(measureTrack(positions))}</dd>
      </dl>
      <label class="field">
        <span class="name">{t("place.along")}</span>
        <input
          type="range"
          min={0}
          max={positions.length - 1}
          value={at}
          aria-valuetext={text}
          onInput={(event) => onCursor(Number(event.currentTarget.value))}
        />
        <output class="mono">{text}</output>
      </label>
    </>
  );
}
