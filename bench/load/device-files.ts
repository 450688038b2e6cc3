import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ColumnName, columnNames } from "../../src/import-export/devices/device-columns.js";
import { type FormatName, formats } from "../../src/import-export/devices/formats.js";
import type { Cell } from "../../src/import-export/devices/table-file.js";

/** A file of made-up devices, as the service would export them. */
export async function deviceFile(
  dir: string,
  format: FormatName,
  productID: string,
  count: number,
): Promise<Buffer> {
  async function* rows(): AsyncGenerator<Cell[]> {
    for (let n = 0; n < count; n++) {
      const cells = deviceCells(`${format}-${String(n).padStart(6, "0")}`, productID, n);
      yield columnNames.map((name) => cells[name] ?? null);
    }
  }
  const path = join(dir, `devices.${format}`);
  await formats[format].write(path, columnNames, rows());
  return readFile(path);
}

/** As the stations of a real fleet are: a dozen fields of text, a place, a note. */
function deviceCells(name: string, productID: string, n: number): Partial<Record<ColumnName, Cell>> {
  return {
    deviceID: `station-${name}`,
    deviceName: `Station ${name}`,
    deviceUsername: `user-${name}`,
    token: `token-of-${name}-with-36-characters---`,
    authType: 1,
    blocked: 0,
    deviceType: 1,
    upLinkSystem: 1,
    productID,
    cloudProtocol: 1,
    carrier: 1,
    physicalNetwork: 1,
    manufacturer: "Lake Instruments",
    serialNumber: `SN${name}`,
    softVersion: "2.4.1",
    hardwareVersion: "C",
    deviceConsolePort: 22,
    description: "Water level and temperature at the outlet, read every minute",
    latitude: 47 + n / 100_000,
    longitude: 8 + n / 100_000,
    location: '{"address":"Quay 3"}',
    scopes: "[]",
  };
}

const boundary = "tidemark-bench-boundary";
export const formType = `multipart/form-data; boundary=${boundary}`;

export function formOf(file: Buffer): Buffer {
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="devices"\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), file, Buffer.from(`\r\n--${boundary}--\r\n`)]);
}
