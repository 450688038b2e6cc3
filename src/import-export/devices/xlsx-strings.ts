import { FormatError } from "../format-error.js";

/** The texts that the cells of a workbook share, by number. */
export interface SharedStrings {
  /** @throws FormatError */
  add(text: string): void;
  /** Empty if there is no such number. */
  get(index: number): string;
}

/** Distinct texts of a file of 200,000 devices, several times over. */
const sharedStringsMax = 4_000_000;
/** `<si/>` */
const bytesPerStringMin = 5;

/**
 * Outside the heap: as separate strings, a small file's millions of texts would exhaust the thread's memory,
 * and V8 then ends the whole process. `bytesMax` limits the UTF-8 bytes of all of them; memory is allocated
 * as it is filled.
 */
export function createSharedStrings(bytesMax: number): SharedStrings {
  const bytes = Buffer.allocUnsafeSlow(bytesMax);
  const countMax = Math.min(sharedStringsMax, Math.ceil(bytesMax / bytesPerStringMin));
  const ends = new Uint32Array(countMax + 1);
  let count = 0;
  return {
    add: (text) => {
      const start = ends[count] ?? 0;
      if (count === countMax) throw new FormatError(`the workbook has more than ${countMax} shared texts`);
      if (start + Buffer.byteLength(text) > bytesMax)
        throw new FormatError("the workbook's shared texts are longer than its file says");
      count++;
      ends[count] = start + bytes.write(text, start);
    },
    get: (index) =>
      Number.isInteger(index) && index >= 0 && index < count
        ? bytes.toString("utf8", ends[index], ends[index + 1])
        : "",
  };
}
