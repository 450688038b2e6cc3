/** The events of a tenant's streams, as they are held in memory. Times in milliseconds since 1970. */
import type { Point } from "../../store/series/series.js";
import type { DecodeRefusal } from "../followers/decoded.js";
import { type LiveEvent, liveEvent, type Numbered } from "./log.js";

export const liveTopics = ["points", "messages", "presence", "alerts", "commands", "overview"] as const;
export type LiveTopic = (typeof liveTopics)[number];
/** Topics that only the owner of a device can publish; the others are read from the metadata. */
export const nodeTopics = ["points", "messages", "presence"] as const satisfies readonly LiveTopic[];
export type NodeTopic = (typeof nodeTopics)[number];

export interface PointEvent extends LiveEvent {
  readonly topic: "points";
  readonly deviceID: string;
}

export interface MessageEvent {
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
  readonly refused: readonly EventRefusal[];
}

/** A reason of decoding, or that a policy has refused the message. */
interface EventRefusal extends Omit<DecodeRefusal, "reason"> {
  readonly reason: DecodeRefusal["reason"] | "policy";
}

export interface PresenceEvent {
  readonly topic: "presence";
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly deviceStatus: number;
  readonly time: number;
}

export interface AlertEvent {
  readonly topic: "alerts";
  readonly id: number;
  readonly deviceIntID: number;
  readonly deviceID: string;
  readonly alertName: string;
  readonly alertSeverity: number;
  readonly state: "began" | "ended";
  readonly time: number;
}

export interface CommandEvent {
  readonly topic: "commands";
  /** The record id in the control log. */
  readonly id: number;
  readonly deviceIntID: number;
  readonly publishStatus: number;
  readonly time: number;
}

interface OverviewEvent {
  readonly topic: "overview";
  /** JSON, made once for all streams of the tenant. */
  readonly figures: string;
}

/** Events were missed and will not be sent. */
export interface GapEvent extends Numbered {
  readonly topic: "gap";
  readonly time: number;
}

/** All events except points, which are published as they are stored. */
export type NewEvent = MessageEvent | PresenceEvent | AlertEvent | CommandEvent | OverviewEvent;
export type TenantEvent = PointEvent | GapEvent | (NewEvent & Numbered);

/** The objects around an event, and around a refusal. */
const objectBytes = 240;
const refusalBytes = 64;

export function tenantEvent(number: number, newEvent: NewEvent): NewEvent & Numbered {
  let bytes = objectBytes;
  if (newEvent.topic === "messages") {
    bytes += 2 * newEvent.messageTopic.length;
    for (const { key } of newEvent.refused) bytes += refusalBytes + 2 * (key?.length ?? 0);
  } else if (newEvent.topic === "alerts") bytes += 2 * newEvent.alertName.length;
  else if (newEvent.topic === "overview") bytes += 2 * newEvent.figures.length;
  return { ...newEvent, number, bytes };
}

export function gapEvent(number: number, time: number): GapEvent {
  return { topic: "gap", time, number, bytes: objectBytes };
}

/** The part of a point that is published. */
export interface LivePoint extends Pick<Point, "time" | "value"> {
  readonly series: Pick<Point["series"], "tenant" | "deviceID" | "field">;
}

export function pointEvent(number: number, point: LivePoint): PointEvent {
  const event = liveEvent(number, point.series.field, point);
  return { ...event, topic: "points", deviceID: point.series.deviceID };
}

const refusedMax = 10;
/** A message may have as many as it has bytes. */
const refusalsLookedMax = 1_000;
const keyCharactersMax = 64;

/** The first reasons and keys of a message's refusals, each once with how many there were among the first. */
export function sumRefusals(refusals: readonly DecodeRefusal[]): DecodeRefusal[] {
  const found = new Map<string, { reason: DecodeRefusal["reason"]; key?: string; count: number }>();
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
