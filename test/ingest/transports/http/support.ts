/** Requests of devices. */
import type { Rec } from "../../../world.js";

export interface DeviceReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export type Headings = Readonly<Record<string, string>>;

export function basicOf(device: Rec): string {
  return `Basic ${Buffer.from(`${device.deviceUsername}:${device.token}`).toString("base64")}`;
}

/** Asks as the device. */
export async function asDevice(
  http: string,
  device: Rec,
  method: string,
  path: string,
  body?: string | Uint8Array,
  headers: Headings = {},
): Promise<DeviceReply> {
  const response = await fetch(http + path, {
    method,
    headers: { Authorization: basicOf(device), ...headers },
    ...(body === undefined ? {} : { body: Buffer.from(body) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
