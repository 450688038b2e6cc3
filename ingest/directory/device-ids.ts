/** Which record has which deviceID, for transports that name devices by it. */
export interface DirectoryIDs {
  /** Record id; null: nobody has it; undefined: it is not known here. */
  get(deviceID: string): number | null | undefined;
  add(deviceID: string, id: number): void;
  remove(deviceID: string, id: number): void;
  /** A look into the metadata begins. */
  begin(): number;
  /** It found nobody. */
  addUnknown(deviceID: string, begun: number): void;
  /** A device has been created. */
  forgetUnknown(): void;
}

/** Names that no device has: a flood of them must not fill the memory. */
const unknownMax = 10_000;

export function createDeviceIDs(): DirectoryIDs {
  const known = new Map<string, number>();
  const unknown = new Set<string>();
  /** Moves when a device is created: a name that was looked for before that may exist now. */
  let generation = 0;

  return {
    get: (deviceID) => known.get(deviceID) ?? (unknown.has(deviceID) ? null : undefined),
    add: (deviceID, id) => {
      known.set(deviceID, id);
      unknown.delete(deviceID);
    },
    remove: (deviceID, id) => {
      if (known.get(deviceID) === id) known.delete(deviceID);
    },
    begin: () => generation,
    addUnknown: (deviceID, begun) => {
      if (begun !== generation || known.has(deviceID)) return;
      if (unknown.size >= unknownMax) unknown.clear();
      unknown.add(deviceID);
    },
    forgetUnknown: () => {
      generation++;
      unknown.clear();
    },
  };
}
