import type { MessageProperties } from "./message.js";

/** The properties of a message in JSON, in records of the journal and in saved sessions. */
export type WrittenProperties = Omit<MessageProperties, "correlationData"> & {
  /** Base64. */
  readonly correlationData?: string;
};

export function writeProperties(from: MessageProperties): WrittenProperties {
  const { correlationData, ...rest } = from;
  if (correlationData === undefined) return rest;
  return { ...rest, correlationData: Buffer.from(correlationData).toString("base64") };
}

export function decodeProperties({ correlationData, ...rest }: WrittenProperties): MessageProperties {
  if (correlationData === undefined) return rest;
  return { ...rest, correlationData: Buffer.from(correlationData, "base64") };
}
