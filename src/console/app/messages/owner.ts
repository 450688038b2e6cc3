/** The sender of a message: a device or a gateway, which have lists of their own. */
import { ApiFailure, call } from "../api.js";

export interface Owner {
  readonly id: number;
  readonly productID: string;
}

const notFound = 404;

/** @param name record id or string id */
export async function fetchOwner(name: string | number, signal: AbortSignal): Promise<Owner> {
  const id = encodeURIComponent(name);
  try {
    return await call<Owner>("GET", `/devices/${id}`, { signal });
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== notFound) throw error;
    return call<Owner>("GET", `/gateways/${id}`, { signal });
  }
}
