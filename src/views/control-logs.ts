import type { ControlLog, GroupControlLog } from "../../store/metadata/commands/control-logs.js";
import { isShallow } from "../http/json-depth.js";
import { payloadText } from "../journal-lists/payload-text.js";
import type { Labelled } from "./context.js";

function shown(log: Omit<ControlLog, "deviceIntID" | "deviceName">, { stamp, label }: Labelled) {
  return {
    topic: log.topic,
    payload: payloadText(new Uint8Array(log.payload)),
    publishStatus: log.publishStatus,
    publishStatusLabel: label("publishStatus", log.publishStatus),
    publishUser: log.publishUser,
    userIntID: log.userIntID,
    createAt: stamp(log.createAt),
    updateAt: stamp(log.updateAt),
  };
}

export function controlLogListed(log: ControlLog, context: Labelled) {
  const { id, deviceIntID, deviceName } = log;
  return { id, deviceIntID, deviceName, ...shown(log, context) };
}

export function groupControlLogListed(log: GroupControlLog, context: Labelled) {
  const { id, groupID, groupName } = log;
  return { id, groupID, groupName, ...shown(log, context) };
}

/** Gateways receive configurations: a payload that is a JSON object, and not nested too deeply, is shown as one. */
export function gatewayControlLogListed(log: ControlLog, context: Labelled) {
  const { publishUser: createUser, payload, ...rest } = shown(log, context);
  return {
    id: log.id,
    deviceIntID: log.deviceIntID,
    payload: parseObject(payload) ?? payload,
    createUser,
    ...rest,
  };
}

function parseObject(text: string): object | null {
  if (!/^\s*\{/.test(text)) return null;
  try {
    const object = JSON.parse(text) as object;
    return isShallow(object) ? object : null;
  } catch {
    return null;
  }
}
