/** What a share answers of its panels; its token is in the address behind #, which browsers keep to themselves. */

import { ApiFailure, call } from "../api.js";
import { learnZone, type ShownZone } from "../charts/zone.js";
import { createQueue } from "../in-parallel.js";
import { shownHeaders } from "../shown.js";
import type { DashboardDocument } from "./document.js";
import type { AlertRow, PanelSource, SeriesAnswer } from "./source.js";

interface Shared {
  readonly name: string;
  readonly document: DashboardDocument;
  /** The zone that was asked for, or else its own. */
  readonly zone: ShownZone & { readonly name: string };
}

/** Below what an address may ask of a share: 4 at once, 20 a second. */
const queue = createQueue(3, 1000 / 15);

const shareHeaders = (token: string) => ({ Authorization: `Share ${token}` });

/** @throws ApiFailure */
export async function readShared(token: string, signal: AbortSignal): Promise<Shared> {
  const shared = await call<Shared>("GET", "/shared", { headers: shareHeaders(token), signal });
  learnZone(shared.zone.name, shared.zone);
  return shared;
}

/** The rules of another zone; null: there is no such one. @throws ApiFailure */
export async function readZoneOfShare(token: string, timezone: string): Promise<ShownZone | null> {
  try {
    return (await call<Shared>("GET", "/shared", { headers: shareHeaders(token), query: { timezone } })).zone;
  } catch (error) {
    if (error instanceof ApiFailure && error.status === 400) return null;
    throw error;
  }
}

export function shareSource(token: string, document: DashboardDocument): PanelSource {
  const headers = shareHeaders(token);
  const data = <T>(
    id: string,
    query: Readonly<Record<string, string | number>>,
    signal: AbortSignal,
  ): Promise<T> =>
    queue(signal, () =>
      call<T>("GET", `/shared/panels/${id}/data`, {
        query,
        headers: { ...headers, ...shownHeaders() },
        signal,
      }),
    );
  return {
    key: JSON.stringify(document),
    isOwn: false,
    series: ({ id }, { from, to, zone, size }, signal) =>
      data<SeriesAnswer>(
        id,
        { startTime: Math.floor(from), endTime: Math.ceil(to), timezone: zone, timeFormat: "ms", ...size },
        signal,
      ),
    // A share answers what its panels ask, and no panel asks for them.
    marks: async () => [],
    alerts: async ({ id, filters }, { from, to }, signal) => {
      const range: Readonly<Record<string, number>> =
        filters.state === "history" ? { startTime: Math.floor(from), endTime: Math.ceil(to) } : {};
      return (await data<{ readonly alerts: readonly AlertRow[] }>(id, range, signal)).alerts;
    },
    places: ({ id }, { bbox, zoom }, signal) => data(id, { bbox, zoom }, signal),
  };
}
