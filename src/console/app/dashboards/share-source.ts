/** What a share answers of its panels; its token is in the address behind #, which browsers keep to themselves. */

import { call } from "../api.js";
import { createQueue } from "../in-parallel.js";
import { shownHeaders } from "../shown.js";
import type { DashboardDocument } from "./document.js";
import type { AlertRow, PanelSource, SeriesAnswer } from "./source.js";

interface Shared {
  readonly name: string;
  readonly document: DashboardDocument;
  /** IANA, or `browser`. */
  readonly timezone: string;
}

/** Below what an address may ask of a share: 4 at once, 20 a second. */
const queue = createQueue(3, 1000 / 15);

const headersOf = (token: string) => ({ Authorization: `Share ${token}` });

/** @throws ApiFailure */
export function readShared(token: string, signal: AbortSignal): Promise<Shared> {
  return call<Shared>("GET", "/shared", { headers: headersOf(token), signal });
}

export function shareSource(token: string, document: DashboardDocument): PanelSource {
  const headers = headersOf(token);
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
