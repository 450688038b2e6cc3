/** All that a cluster does, at once: uplinks, subscribers, commands with receipts, groups, schedules, alerts. */
import type { AnyService } from "../../flow/support.js";
import { provision } from "../../flow/support.js";
import type { Rec } from "../../world.js";
import { type Commanding, startCommanding } from "./commanding.js";
import { kinds, type Publishing, startPublishing } from "./publishing.js";

export interface WholeLoad {
  readonly publishing: readonly Publishing[];
  readonly commanding: Commanding;
  /** Ends it; resolves once all is acknowledged, heard, run and confirmed. */
  end(): Promise<void>;
}

interface Options {
  /** Where the devices connect. */
  readonly address: string;
  /** A node that runs, another each time. */
  readonly anyNode: () => AnyService;
  readonly publishers: number;
  readonly listeners: number;
  /** The rate of each publisher. */
  readonly messagesPerSecond: number;
}

const mostInFlight = 3;

export async function startWholeLoad(options: Options): Promise<WholeLoad> {
  const { address, anyNode, publishers, listeners } = options;
  // Every value is above it: each message is counted by an alert.
  const devices = await provision(anyNode(), publishers + listeners, { upperLimit: -1 });
  const pauseMs = (1000 * mostInFlight) / options.messagesPerSecond;
  const publishing = await Promise.all(
    devices.slice(0, publishers).map((device, i) => {
      const kind = kinds[i % kinds.length] as (typeof kinds)[number];
      return startPublishing(device as Rec, kind, address, { mostInFlight, pauseMs });
    }),
  );
  const commanding = await startCommanding(devices.slice(publishers), address, anyNode);
  return {
    publishing,
    commanding,
    end: async () => {
      await Promise.all([...publishing.map((one) => one.end()), commanding.end()]);
    },
  };
}
