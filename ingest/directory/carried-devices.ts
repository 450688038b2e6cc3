/** Which devices were heard through a carrier that is there: a gateway, or a parent device. */
interface CarriedDevices {
  /** Through which carrier the device was heard last. */
  carrierOf(device: number): number | undefined;
  put(device: number, carrier: number): void;
  /** Forgets the carrier; answers the devices that were heard through it last. */
  take(carrier: number): readonly number[];
}

export function createCarriedDevices(): CarriedDevices {
  const carriers = new Map<number, number>();
  const carried = new Map<number, Set<number>>();

  function leave(device: number): void {
    const carrier = carriers.get(device);
    const others = carrier === undefined ? undefined : carried.get(carrier);
    others?.delete(device);
    if (carrier !== undefined && others?.size === 0) carried.delete(carrier);
    carriers.delete(device);
  }

  return {
    carrierOf: (device) => carriers.get(device),
    put: (device, carrier) => {
      if (carriers.get(device) === carrier) return;
      leave(device);
      carriers.set(device, carrier);
      carried.set(carrier, (carried.get(carrier) ?? new Set()).add(device));
    },
    take: (carrier) => {
      const devices = [...(carried.get(carrier) ?? [])];
      for (const device of devices) carriers.delete(device);
      carried.delete(carrier);
      return devices;
    },
  };
}
