/** How stamps of records are asked for and shown: by the wall clock of the chosen zone, to the second. */
import { isZone, offsetText, wallText } from "./charts/zone.js";
import { language } from "./i18n.js";
import { query } from "./router.js";
import { me } from "./session.js";

/** Headers of queries whose answers are shown, not edited: exact times, and texts in the page's language. */
export const shownHeaders = (): Readonly<Record<string, string>> => ({
  "Time-Format": "ms",
  "Label-Language": language.value,
});

/** The zone that the address names, or else the deployment's. */
export function shownZone(): string {
  const { tz = "" } = query.value;
  return isZone(tz) ? tz : (me.value?.timezone ?? "UTC");
}

/** `2026-11-24 14:30:00` */
export function momentText(at: number, zone = shownZone()): string {
  return wallText(zone, Math.floor(at / 1000) * 1000);
}

interface MomentProps {
  /** Milliseconds since 1970; null: never. */
  readonly at: number | null;
  readonly zone?: string;
}

/** A moment. Its tooltip shows the zone and the offset, because a clock may show the same time twice. */
export function Moment({ at, zone = shownZone() }: MomentProps) {
  if (at === null) return <span class="muted">–</span>;
  return (
    <time class="mono" dateTime={new Date(at).toISOString()} title={`${zone} ${offsetText(zone, at)}`}>
      {momentText(at, zone)}
    </time>
  );
}
