/** A device or gateway as maps need it. */
import { ApiFailure, call } from "../api.js";
import { type LngLat, type Places, wholeEarth, zoomMax } from "./places.js";

export interface Placed {
  readonly deviceID: string;
  readonly name: string;
  readonly productName: string | null;
  /** A deviceStatus. */
  readonly status: number;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly isGateway: boolean;
  readonly scopes: readonly Scope[];
}

/** A fence: an area that the device must not leave (1) or enter (2). */
export type Scope = { readonly scopeType: 1 | 2; readonly scopeName: string } & (
  | { readonly points: readonly LngLat[] }
  | { readonly center: LngLat; readonly radius: number }
);

interface DeviceOfA {
  readonly deviceID: string;
  readonly deviceName: string;
  readonly productName: string;
  readonly deviceStatus: number;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly scopes: readonly Scope[];
}

interface GatewayOfA {
  readonly deviceID: string;
  readonly gatewayName: string;
  readonly productName: string | null;
  readonly deviceStatus: number;
}

/** The record of a gateway has no place, and only Variant B has gateways on its map. */
async function fetchPlaceOfGateway(
  id: number,
  signal: AbortSignal,
): Promise<Pick<Placed, "latitude" | "longitude">> {
  const query = { bbox: wholeEarth, zoom: zoomMax, deviceIntID: id };
  const headers = { "Api-Variant": "B" };
  const { clusters } = await call<Places>("GET", "/device_places", { query, headers, signal });
  return clusters[0] ?? { latitude: null, longitude: null };
}

/** @throws ApiFailure */
export async function fetchPlaced(id: number, signal: AbortSignal): Promise<Placed> {
  try {
    const device = await call<DeviceOfA>("GET", `/devices/${id}`, { signal });
    return { ...device, name: device.deviceName, status: device.deviceStatus, isGateway: false };
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== 404) throw error;
    const [gateway, place] = await Promise.all([
      call<GatewayOfA>("GET", `/gateways/${id}`, { signal }),
      fetchPlaceOfGateway(id, signal),
    ]);
    const { gatewayName: name, deviceStatus: status } = gateway;
    return { ...gateway, ...place, name, status, isGateway: true, scopes: [] };
  }
}
