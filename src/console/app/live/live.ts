/** What happens, as it happens: for the parts of a page that show it. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { isServed, listen } from "./link.js";
import type { Item, Topic } from "./protocol.js";

/** A live point. Times are milliseconds since 1970, as in all live events. */
interface LivePoint {
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly dataPointIntID: number;
  readonly dataPointID: string;
  readonly time: number;
  readonly value: unknown;
}

export interface LiveMessage {
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly deviceName: string | null;
  readonly eventID: number;
  readonly topic: string;
  readonly bytes: number;
  readonly time: number;
  readonly points: number;
  readonly refused: readonly { readonly reason: string; readonly key?: string; readonly count: number }[];
}

interface LivePresence {
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly deviceStatus: number;
  readonly time: number;
}

interface LiveAlert {
  readonly id: number;
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly alertName: string;
  readonly alertSeverity: number;
  readonly state: "began" | "ended";
  readonly time: number;
}

interface LiveCommand {
  readonly id: number;
  readonly deviceIntID: number;
  readonly publishStatus: number;
  readonly time: number;
}

interface Handlers {
  readonly onPoints?: (points: readonly LivePoint[]) => void;
  readonly onMessages?: (messages: readonly LiveMessage[]) => void;
  /** Receives the number of messages that were skipped since the last call because there were too many. */
  readonly onSkipped?: (count: number) => void;
  readonly onPresence?: (told: readonly LivePresence[]) => void;
  readonly onAlerts?: (alerts: readonly LiveAlert[]) => void;
  readonly onCommands?: (commands: readonly LiveCommand[]) => void;
  readonly onOverview?: (figures: object) => void;
}

interface LiveWish extends Handlers {
  /** By deviceID; null: of all devices, but no points. */
  readonly devices: readonly string[] | null;
}

const handlerNames = {
  points: "onPoints",
  messages: "onMessages",
  presence: "onPresence",
  alerts: "onAlerts",
  commands: "onCommands",
  overview: "onOverview",
} as const satisfies Record<Topic, keyof Handlers>;
const allTopics = Object.keys(handlerNames) as Topic[];

/**
 * Passes live events of some devices to the handlers while the part is shown: each kind that has a handler. Returns
 * whether live events arrive at all now.
 */
export function useLive(wish: LiveWish): boolean {
  const handlers = useRef<Handlers>(wish);
  handlers.current = wish;
  const { devices } = wish;
  const topics = allTopics.filter((topic) => wish[handlerNames[topic]] !== undefined);
  const isNothing = topics.length === 0 || devices?.length === 0;
  useEffect(() => {
    if (isNothing) return;
    return listen({
      want: { topics, devices },
      receive: (topic, items) => {
        const own = items.filter(
          ({ deviceID }) => devices === null || deviceID === undefined || devices.includes(deviceID),
        );
        if (own.length > 0) handTo(handlers.current, topic, own);
      },
      skipped: (count) => handlers.current.onSkipped?.(count),
    });
  }, [JSON.stringify([topics, devices])]);
  return isServed({ topics, devices }) && !isNothing;
}

function handTo(handlers: Handlers, topic: Topic, items: readonly Item[]): void {
  if (topic === "overview") for (const one of items) handlers.onOverview?.(one);
  else handlers[handlerNames[topic]]?.(items as never);
}

/** The newest of a data point. */
export interface NewestPoint {
  readonly time: number;
  readonly value: unknown;
}

interface LiveValues {
  /** By dataPointID. */
  readonly values: ReadonlyMap<string, NewestPoint>;
  readonly isConnected: boolean;
}

/** The newest values of a device that have come since the part is shown. */
export function useLiveValues(deviceID: string): LiveValues {
  const values = useSignal<ReadonlyMap<string, NewestPoint>>(new Map());
  const isConnected = useLive({
    devices: [deviceID],
    onPoints: (points) => {
      const next = new Map(values.value);
      for (const { dataPointID, time, value } of points) {
        const known = next.get(dataPointID);
        // Events of late points arrive too: only the newest point is shown.
        if (known === undefined || known.time <= time) next.set(dataPointID, { time, value });
      }
      values.value = next;
    },
  });
  return { values: values.value, isConnected };
}
