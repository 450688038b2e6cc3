/** What a grammar builds: a tree that mutators change before it becomes bytes, so that the rest stays well formed. */
export type Part = Leaf | Group;

interface Leaf {
  readonly bytes: Buffer;
}

export interface Group {
  readonly parts: readonly Part[];
  /** Makes the bytes of the whole of those of the parts: a length in front, a separator between, a checksum. */
  readonly join: (parts: readonly Buffer[]) => Buffer;
}

export function leaf(bytes: Uint8Array | string | number): Leaf {
  if (typeof bytes === "number") return { bytes: Buffer.of(bytes) };
  return { bytes: typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes) };
}

type Given = Part | Uint8Array | string | number;

function toPart(given: Given): Part {
  const isPart = typeof given === "object" && ("parts" in given || "bytes" in given);
  return isPart ? (given as Part) : leaf(given as Uint8Array | string | number);
}

/** One part after the other. */
export function sequence(...parts: readonly Given[]): Group {
  return { parts: parts.map(toPart), join: (bytes) => Buffer.concat(bytes) };
}

export function separated(by: string, parts: readonly Given[]): Group {
  const separator = Buffer.from(by);
  return {
    parts: parts.map(toPart),
    join: (all) => Buffer.concat(all.flatMap((one, i) => (i === 0 ? [one] : [separator, one]))),
  };
}

/** The parts with a head made of their bytes in front. */
export function prefixed(head: (body: Buffer) => Uint8Array, ...parts: readonly Given[]): Group {
  return {
    parts: parts.map(toPart),
    join: (all) => {
      const body = Buffer.concat(all);
      return Buffer.concat([head(body), body]);
    },
  };
}

export function bytesOf(part: Part): Buffer {
  return "bytes" in part ? part.bytes : part.join(part.parts.map(bytesOf));
}
