/**
 * Watches the map's tile server: logs when it fails and recovers, and asks for a pause after several faults in a row.
 */
import type { Logger } from "../observability/log.js";
import type { TileFault } from "./fetch-tile.js";

interface ServerWatch {
  failed(fault: TileFault): void;
  succeeded(): void;
  /** The fault because of which no tile should be requested now; null: requests may be sent. */
  readonly pause: TileFault | null;
}

/** After so many faults of the server without a tile between them, requests pause, so that nobody waits for them. */
const [faultsOfPause, pauseMs] = [3, 5000] as const;
/** Without a fault for so long, it is well again. */
const quietMs = 60_000;

/** @param host as the log names it: the rest of the address may hold a key */
export function createServerWatch(
  host: string,
  log: Pick<Logger, "info" | "warn">,
  monotonic: () => number,
): ServerWatch {
  let trouble: { readonly fault: TileFault; readonly at: number } | null = null;
  let faultsInRow = 0;
  return {
    failed: (fault) => {
      if (trouble === null) {
        const reason = fault.message;
        log.warn("the map's tile server is in trouble; maps show outlines instead", { host, reason });
      }
      trouble = { fault, at: monotonic() };
      if (fault.of === "server") faultsInRow++;
    },
    succeeded: () => {
      faultsInRow = 0;
      if (trouble === null || monotonic() - trouble.at < quietMs) return;
      trouble = null;
      log.info("the map's tile server is well again", { host });
    },
    get pause() {
      if (trouble === null || faultsInRow < faultsOfPause) return null;
      return monotonic() - trouble.at < pauseMs ? trouble.fault : null;
    },
  };
}
