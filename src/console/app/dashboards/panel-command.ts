/** What a command panel sends, as it is sent. Pure. */
import type { CommandPanel, Variable } from "./document.js";
import { type Chosen, filledIn, resolveTarget } from "./targets.js";

export interface Sent {
  readonly path: "/group_publish" | "/device_publish";
  /** The string id of the device or group. */
  readonly to: string;
  /** Null: where the device takes commands in any case. */
  readonly topic: string | null;
  /** Null: with the values of the variables it is no JSON any more, which it is meant to be. */
  readonly payload: string | null;
  /** Part of it comes from the URL of the page, and so perhaps from the sender of a link. */
  readonly isOfAddress: boolean;
}

/** Null: nobody is chosen. */
export function prepareCommand(
  panel: CommandPanel,
  variables: readonly Variable[],
  chosen: Chosen,
): Sent | null {
  const isGroup = panel.groupID !== undefined;
  const named = panel.groupID ?? panel.deviceID ?? "";
  const target = resolveTarget(named, isGroup ? "group" : "device", variables, chosen);
  if (target === null) return null;
  const of = (values: Chosen) => ({
    to: resolveTarget(named, isGroup ? "group" : "device", variables, values)?.id,
    topic: panel.topic === undefined ? null : filledIn(panel.topic, variables, values),
    payload: fillPayload(panel.payload, variables, values),
  });
  const sent = of(chosen);
  return {
    path: isGroup ? "/group_publish" : "/device_publish",
    to: target.id,
    topic: sent.topic,
    payload: sent.payload,
    isOfAddress: JSON.stringify(sent) !== JSON.stringify(of({})),
  };
}

export function createCommandBody({ path, to, topic, payload }: Sent) {
  return {
    ...(path === "/group_publish" ? { groupID: to } : { deviceID: to }),
    payload: payload ?? "",
    ...(topic === null ? {} : { topic }),
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Where the stored payload is JSON, a value stays what it stands for: within quotes it is escaped, elsewhere it must be
 * JSON itself, so that none adds fields of its own.
 */
function fillPayload(template: string, variables: readonly Variable[], chosen: Chosen): string | null {
  if (!isJson(asJson(template, variables, {}) ?? "")) return filledIn(template, variables, chosen);
  const filled = asJson(template, variables, chosen);
  return filled !== null && isJson(filled) ? filled : null;
}

/** Strings of JSON, and what stands between them. */
const parts = /"(?:[^"\\]|\\.)*"|[^"]+|"/gs;

function asJson(template: string, variables: readonly Variable[], chosen: Chosen): string | null {
  let isWhole = true;
  const filled = (template.match(parts) ?? []).map((part) =>
    filledIn(part, variables, chosen, (value) => {
      if (part.startsWith('"')) return JSON.stringify(value).slice(1, -1);
      if (!isJson(value)) isWhole = false;
      return value;
    }),
  );
  return isWhole ? filled.join("") : null;
}
