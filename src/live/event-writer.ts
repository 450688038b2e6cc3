/** Makes the frames of one stream from a tenant's events: those of its topics and devices, as Server-Sent Events. */
import {
  type AlertEvent,
  type CommandEvent,
  type GapEvent,
  type LiveTopic,
  type MessageEvent,
  nodeTopics,
  type PointEvent,
  type PresenceEvent,
  type TenantEvent,
} from "../../ingest/live/tenant-events.js";
import type { Db } from "../../store/metadata/db/db.js";
import type { DeviceRef } from "../../store/metadata/devices/lookup.js";
import { deviceNames } from "../../store/metadata/devices/names.js";
import type { DataPoint } from "../../store/metadata/products/data-points.js";
import type { ProductCatalog, ProductModel } from "../devices/catalog.js";
import { createSample } from "./sample.js";
import type { LiveScope } from "./scope.js";
import { valueJson } from "./value-json.js";

interface EventWriter {
  /**
   * Reads the data that the frames of some events need; the returned function makes the frames, in pieces. Messages
   * may be left out.
   */
  prepare(events: readonly TenantEvent[], scope: LiveScope | null): Promise<() => Uint8Array[]>;
  /** How many messages were left out and not yet reported, once their second is over. */
  skipped(): number;
  /** Devices may have other names. */
  forgetNames(): void;
}

type EventWriterDeps = { readonly catalog: ProductCatalog; readonly db: Db };

const encoder = new TextEncoder();
const formatFrame = (event: string, json: string): Uint8Array =>
  encoder.encode(`event: ${event}\ndata: ${json}\n\n`);
export const frame = (event: string, data: object): Uint8Array => formatFrame(event, JSON.stringify(data));

/** Names that one stream remembers. */
const namesMax = 1_000;

export function createEventWriter(deps: EventWriterDeps, topics: ReadonlySet<LiveTopic>): EventWriter {
  const fields = createFields(deps.catalog);
  const sample = createSample();
  const names = new Map<number, string | null>();
  const mayMiss = nodeTopics.some((topic) => topics.has(topic));
  const isOwn = (scope: LiveScope | null, event: TenantEvent): boolean =>
    event.topic === "gap" ? mayMiss : topics.has(event.topic) && isIn(scope, event);

  async function nameAll(messages: readonly MessageEvent[]): Promise<void> {
    const unknown = [...new Set(messages.map((one) => one.deviceIntID))].filter((id) => !names.has(id));
    if (unknown.length === 0) return;
    if (names.size + unknown.length > namesMax) names.clear();
    const found = await deviceNames(deps.db, unknown);
    for (const id of unknown) names.set(id, found.get(id)?.deviceName ?? null);
  }

  return {
    prepare: async (events, scope) => {
      const own = events.filter((event) => isOwn(scope, event));
      const points = own.filter((event) => event.topic === "points");
      const others = own
        .filter((event) => event.topic !== "points")
        .filter((event) => event.topic !== "messages" || sample.take());
      await nameAll(others.filter((event) => event.topic === "messages"));
      const shown = await readShownPoints(points, scope, fields);
      return () => [
        ...others.map((one) =>
          one.topic === "overview"
            ? formatFrame(one.topic, one.figures)
            : one.topic === "gap"
              ? frame(one.topic, { time: one.time })
              : frame(eventNames[one.topic], toEventData(one, names)),
        ),
        ...pointsFrame(shown),
      ];
    },
    skipped: sample.skipped,
    forgetNames: () => names.clear(),
  };
}

const eventNames = {
  messages: "message",
  presence: "presence",
  alerts: "alert",
  commands: "command",
} as const;

function isIn(scope: LiveScope | null, event: Exclude<TenantEvent, GapEvent>): boolean {
  if (event.topic === "overview") return true;
  if (scope === null) return event.topic !== "points";
  return event.topic === "points" ? scope.byText.has(event.deviceID) : scope.byNumber.has(event.deviceIntID);
}

type OfDevice = MessageEvent | PresenceEvent | AlertEvent | CommandEvent;

function toEventData(shown: OfDevice, names: ReadonlyMap<number, string | null>): object {
  switch (shown.topic) {
    case "messages": {
      const { deviceIntID, deviceID, eventID, messageTopic, size, time, points, refused } = shown;
      const deviceName = names.get(deviceIntID) ?? null;
      return {
        deviceIntID,
        deviceID,
        deviceName,
        eventID,
        topic: messageTopic,
        bytes: size,
        time,
        points,
        refused,
      };
    }
    case "presence": {
      const { deviceIntID, deviceID, deviceStatus, time } = shown;
      return { deviceIntID, deviceID, deviceStatus, time };
    }
    case "alerts": {
      const { id, deviceIntID, deviceID, alertName, alertSeverity, state, time } = shown;
      return { id, deviceIntID, deviceID, alertName, alertSeverity, state, time };
    }
    case "commands": {
      const { id, deviceIntID, publishStatus, time } = shown;
      return { id, deviceIntID, publishStatus, time };
    }
  }
}

const [arrayBegins, arrayEnds, comma, objectEnds] = ["event: points\ndata: [", "]\n\n", ",", "}"].map(
  (text) => encoder.encode(text),
) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];

interface ShownPoint {
  readonly event: PointEvent;
  readonly device: DeviceRef;
  readonly point: DataPoint;
}

/** With their devices and data points; those of data points that are gone are left out. */
async function readShownPoints(
  events: readonly PointEvent[],
  scope: LiveScope | null,
  fields: Fields,
): Promise<ShownPoint[]> {
  const shown: ShownPoint[] = [];
  for (const event of events) {
    const device = scope?.byText.get(event.deviceID);
    if (device === undefined) continue;
    const point = (await fields(device.productIntID)).get(event.field);
    if (point !== undefined) shown.push({ event, device, point });
  }
  return shown;
}

/** One array of all points; nothing where there are none. */
function pointsFrame(points: readonly ShownPoint[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (const { event, device, point } of points) {
    const { id: deviceIntID, deviceID } = device;
    const { id: dataPointIntID, dataPointID } = point;
    const named = { deviceIntID, deviceID, dataPointIntID, dataPointID, time: event.time / 1000 };
    const shown = valueJson(point, event.value);
    const head = `${JSON.stringify(named).slice(0, -1)},"value":`;
    pieces.push(pieces.length === 0 ? arrayBegins : comma);
    if (typeof shown === "string") pieces.push(encoder.encode(`${head}${shown}}`));
    else pieces.push(encoder.encode(head), shown, objectEnds);
  }
  return pieces.length === 0 ? [] : [...pieces, arrayEnds];
}

type Fields = (productIntID: number) => Promise<ReadonlyMap<string, DataPoint>>;

/** The data points of products by field, made once for each state of a product. */
function createFields(catalog: ProductCatalog): Fields {
  const known = new Map<number, { readonly model: ProductModel; readonly points: Map<string, DataPoint> }>();
  return async (productIntID) => {
    const model = await catalog.model(productIntID);
    const last = known.get(productIntID);
    if (last?.model === model) return last.points;
    const points = new Map(model.points.map((point) => [point.field, point]));
    known.set(productIntID, { model, points });
    return points;
  };
}
