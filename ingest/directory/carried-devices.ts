/** Which devices were heard through a parent that is present: a gateway or a parent device. */
interface CarriedDevices {
  /** Through which parent the device was heard last. */
  parentOf(device: number): number | undefined;
  put(device: number, parent: number): void;
  /** Forgets the parent; returns the devices that were last heard through it. */
  take(parent: number): readonly number[];
}

export function createCarriedDevices(): CarriedDevices {
  const parents = new Map<number, number>();
  const carried = new Map<number, Set<number>>();

  function leave(device: number): void {
    const parent = parents.get(device);
    const others = parent === undefined ? undefined : carried.get(parent);
    others?.delete(device);
    if (parent !== undefined && others?.size === 0) carried.delete(parent);
    parents.delete(device);
  }

  return {
    parentOf: (device) => parents.get(device),
    put: (device, parent) => {
      if (parents.get(device) === parent) return;
      leave(device);
      parents.set(device, parent);
      carried.set(parent, (carried.get(parent) ?? new Set()).add(device));
    },
    take: (parent) => {
      const devices = [...(carried.get(parent) ?? [])];
      for (const device of devices) parents.delete(device);
      carried.delete(parent);
      return devices;
    },
  };
}
