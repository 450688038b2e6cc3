/** Writes what binary streams read: the reverse of ingest/decode/binary.ts, bit by bit and without its code. */
import type { BinaryPoint } from "../../../ingest/decode/binary.js";

export interface BinaryValue {
  readonly point: BinaryPoint;
  readonly value: unknown;
}

export function encodeBinary(values: readonly BinaryValue[]): Buffer {
  let bits = "";
  for (const { point, value } of values) {
    if (point.pointDataType !== 19) bits = padToByte(bits);
    bits += bitsOf(point, value);
  }
  const whole = padToByte(bits);
  return Buffer.from(whole.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
}

const padToByte = (bits: string): string => bits.padEnd(Math.ceil(bits.length / 8) * 8, "0");
const ofBytes = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
const ofInteger = (value: bigint, bits: number): string =>
  BigInt.asUintN(bits, value).toString(2).padStart(bits, "0");

function ofFloat(value: number, bytes: number): string {
  const view = new DataView(new ArrayBuffer(bytes));
  if (bytes === 4) view.setFloat32(0, value);
  else view.setFloat64(0, value);
  return ofBytes(new Uint8Array(view.buffer));
}

const withLength = (bytes: Uint8Array): string => ofInteger(BigInt(bytes.length), 16) + ofBytes(bytes);

function ofText(text: string, size: number | null): string {
  const bytes = Buffer.from(text);
  if (size === null) return withLength(bytes);
  return ofBytes(Buffer.concat([bytes, Buffer.alloc(size - bytes.length)]));
}

function bitsOf({ pointDataType: type, binarySize: size }: BinaryPoint, value: unknown): string {
  switch (type) {
    case 1:
      return ofFloat(value as number, size ?? 8);
    case 3:
    case 4:
    case 11:
      return ofText(value as string, size);
    case 12:
      return ofText(value as string, null);
    case 5:
      return ofBytes(Uint8Array.of(value ? 1 : 0));
    case 6: {
      const each = (size ?? 16) % 12 === 0 ? (size ?? 16) / 3 : (size ?? 16) / 2;
      return (value as number[]).map((part) => ofFloat(part, each)).join("");
    }
    case 13:
      return ofBytes(value as Uint8Array);
    case 14:
      return withLength(value as Uint8Array);
    case 15:
    case 16:
    case 21:
    case 22:
      return ofInteger(value as bigint, (size ?? 4) * 8);
    case 17:
      return ofFloat(value as number, 4);
    case 18:
      return ofFloat(value as number, 8);
    case 19:
      return ofInteger(value as bigint, size ?? 1);
    case 23:
      return ofInteger(value ? 1n << BigInt(size ?? 0) : 0n, 16);
    case 24:
      return ofInteger(BigInt(value as number), (size ?? 8) * 8);
    case 25:
      return ofFloat(value as number, size ?? 4);
    default:
      throw new Error(`no binary form of type ${type}`);
  }
}
