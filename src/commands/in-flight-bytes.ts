/** Payload bytes that clients have been sent and have not confirmed, by tenant and device. */
interface InFlightBytes {
  /** Returns a function that takes them away again; calling it twice does nothing more. */
  add(tenant: number, device: number, bytes: number): () => void;
  /** Whether the tenant's connected clients have no more than this many bytes unconfirmed. */
  isWithin(tenant: number, bytesMax: number): boolean;
}

interface Sent {
  bytes: number;
}

/**
 * Devices whose clients have gone are not waited for: a message may stay in a queue for as long as its client
 * is away.
 * @param isThere whether any client of the device is connected
 */
export function createInFlightBytes(isThere: (device: number) => boolean): InFlightBytes {
  const tenants = new Map<number, { bytes: number; readonly devices: Map<number, Sent> }>();

  function take(tenant: number, device: number, bytes: number): void {
    const of = tenants.get(tenant);
    const sent = of?.devices.get(device);
    if (of === undefined || sent === undefined) return;
    of.bytes -= bytes;
    sent.bytes -= bytes;
    if (sent.bytes === 0) of.devices.delete(device);
    if (of.devices.size === 0) tenants.delete(tenant);
  }

  return {
    add: (tenant, device, bytes) => {
      if (bytes === 0) return () => undefined;
      const of = tenants.get(tenant) ?? { bytes: 0, devices: new Map<number, Sent>() };
      const sent = of.devices.get(device) ?? { bytes: 0 };
      tenants.set(tenant, of);
      of.devices.set(device, sent);
      of.bytes += bytes;
      sent.bytes += bytes;
      let isCounted = true;
      return () => {
        // Already given back where its client had gone, even if another is connected now.
        if (isCounted && tenants.get(tenant)?.devices.get(device) === sent) take(tenant, device, bytes);
        isCounted = false;
      };
    },
    isWithin: (tenant, bytesMax) => {
      const of = tenants.get(tenant);
      if (of === undefined || of.bytes <= bytesMax) return true;
      for (const [device, { bytes }] of of.devices) if (!isThere(device)) take(tenant, device, bytes);
      return of.bytes <= bytesMax;
    },
  };
}
