/** The events of a tenant's streams, as they are held in memory. Times in milliseconds since 1970. */
import type { Point } from "../../store/series/series.js";
import type { Refusal } from "../followers/decoded.js";
import { type LiveEvent, liveEvent, type Numbered } from "./log.js";

export const liveTopics = ["points", "messages", "presence", "alerts", "commands", "overview"] as const;
export type LiveTopic = (typeof liveTopics)[number];
/** Topics that only the owner of a device can publish; the others are read from the metadata. */
export const keptTopics = ["points", "messages", "presence"] as const satisfies readonly LiveTopic[];
export type KeptTopic = (typeof keptTopics)[number];

export interface PointTold extends LiveEvent {
  readonly topic: "points";
  readonly deviceID: string;
}

export interface MessageTold {
  readonly topic: "messages";
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly eventID: number;
  /** Where it was published. */
  readonly messageTopic: string;
  /** Bytes of its payload. */
  readonly size: number;
  readonly time: number;
  readonly points: number;
  /** The first ones, each reason and key once. */
  readonly refused: readonly ToldRefusal[];
}

/** A reason of decoding, or that a policy has refused the message. */
interface ToldRefusal extends Omit<Refusal, "reason"> {
  readonly reason: Refusal["reason"] | "policy";
}

export interface PresenceTold {
  readonly topic: "presence";
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly deviceStatus: number;
  readonly time: number;
}

export interface AlertTold {
  readonly topic: "alerts";
  readonly id: number;
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly alertName: string;
  readonly alertSeverity: number;
  readonly state: "began" | "ended";
  readonly time: number;
}

export interface CommandTold {
  readonly topic: "commands";
  /** The id of the control log. */
  readonly id: number;
  readonly deviceIntID: number;
  readonly publishStatus: number;
  readonly time: number;
}

interface OverviewTold {
  readonly topic: "overview";
  /** JSON, made once for all streams of the tenant. */
  readonly figures: string;
}

/** Events were missed and will not be sent. */
export interface GapTold extends Numbered {
  readonly topic: "gap";
  readonly time: number;
}

/** All events except points, which are published as they are stored. */
export type Told = MessageTold | PresenceTold | AlertTold | CommandTold | OverviewTold;
export type TenantEvent = PointTold | GapTold | (Told & Numbered);

/** The objects around an event, and around a refusal. */
const objectBytes = 240;
const refusalBytes = 64;

export function tenantEvent(number: number, told: Told): Told & Numbered {
  let bytes = objectBytes;
  if (told.topic === "messages") {
    bytes += 2 * told.messageTopic.length;
    for (const { key } of told.refused) bytes += refusalBytes + 2 * (key?.length ?? 0);
  } else if (told.topic === "alerts") bytes += 2 * told.alertName.length;
  else if (told.topic === "overview") bytes += 2 * told.figures.length;
  return { ...told, number, bytes };
}

export function gapTold(number: number, time: number): GapTold {
  return { topic: "gap", time, number, bytes: objectBytes };
}

/** The part of a point that is published. */
export interface LivePoint extends Pick<Point, "time" | "value"> {
  readonly series: Pick<Point["series"], "tenant" | "deviceID" | "field">;
}

export function pointTold(number: number, point: LivePoint): PointTold {
  const event = liveEvent(number, point.series.field, point);
  return { ...event, topic: "points", deviceID: point.series.deviceID };
}

const refusedMax = 10;
/** A message may have as many as it has bytes. */
const refusalsLookedMax = 1_000;
const keyCharactersMax = 64;

/** The first reasons and keys of a message's refusals, each once with how many there were among the first. */
export function refusedOf(refusals: readonly Refusal[]): Refusal[] {
  const found = new Map<string, { reason: Refusal["reason"]; key?: string; count: number }>();
  for (const { reason, count, key } of refusals.slice(0, refusalsLookedMax)) {
    const shown = key?.slice(0, keyCharactersMax).toWellFormed();
    const name = `${reason} ${shown ?? ""}`;
    const known = found.get(name);
    if (known !== undefined) known.count += count;
    else if (found.size < refusedMax)
      found.set(name, { reason, ...(shown === undefined ? {} : { key: shown }), count });
  }
  return [...found.values()];
}
