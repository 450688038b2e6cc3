/** Plans as few requests to GET /live as possible for what all windows want. */
import { api } from "../base.js";
import type { Topic, Want } from "./protocol.js";

export interface Question {
  readonly topics: readonly Topic[];
  readonly devices: readonly string[] | null;
}

/** The limits of one request. */
const devicesMax = 100;
const lettersMax = 6000;

export function planStreams(wants: readonly Want[]): Question[] {
  const ofAll = new Set<Topic>();
  const ofSome = new Set<Topic>();
  const devices = new Set<string>();
  for (const want of wants) {
    for (const topic of want.topics) (isOfAll(want, topic) ? ofAll : ofSome).add(topic);
    if (want.topics.some((topic) => !isOfAll(want, topic)))
      for (const one of want.devices ?? []) devices.add(one);
  }
  ofAll.delete("points");
  for (const topic of ofAll) ofSome.delete(topic);
  const some = ofSome.size === 0 ? [] : parts([...devices].sort());
  const questions = some.map((part) => ({ topics: [...ofSome].sort(), devices: part }));
  const [first] = questions;
  // The figures are not of devices: they come along with any stream.
  if (first !== undefined && ofAll.delete("overview")) first.topics.push("overview");
  if (ofAll.size > 0) return [...questions, { topics: [...ofAll].sort(), devices: null }];
  // One stream is there in any case: it shows whether the service is.
  return questions.length > 0 ? questions : [{ topics: ["alerts"], devices: null }];
}

/** Chooses at most `max` streams: streams of all devices have priority over those of single devices. */
export function fitting(questions: readonly Question[], max: number): Question[] {
  const ofAll = questions.filter(({ devices }) => devices === null);
  const ofSome = questions.filter(({ devices }) => devices !== null);
  return [...ofSome.slice(0, max - ofAll.length), ...ofAll];
}

const isOfAll = ({ devices }: Want, topic: Topic): boolean => devices === null || topic === "overview";

function parts(devices: readonly string[]): string[][] {
  const found: string[][] = [];
  let letters = 0;
  for (const one of devices) {
    const own = encodeURIComponent(one).length + 3;
    const last = found.at(-1);
    if (last === undefined || last.length === devicesMax || letters + own > lettersMax) {
      found.push([one]);
      letters = own;
    } else {
      last.push(one);
      letters += own;
    }
  }
  return found;
}

/** Whether the streams bring all that is wanted. */
export function bring(questions: readonly Question[], { topics, devices }: Want): boolean {
  const bringsIt = (topic: Topic, device: string | null): boolean =>
    questions.some(
      (one) =>
        one.topics.includes(topic) &&
        (one.devices === null || topic === "overview" || (device !== null && one.devices.includes(device))),
    );
  return topics.every((topic) =>
    devices === null ? bringsIt(topic, null) : devices.every((device) => bringsIt(topic, device)),
  );
}

export function formatStreamPath({ topics, devices }: Question): string {
  const ids = devices === null ? "" : `&deviceID=${devices.map(encodeURIComponent).join(",")}`;
  return `${api}/live?topics=${topics.join(",")}${ids}`;
}
