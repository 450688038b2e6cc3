import { ApiError } from "../../http/errors.js";
import { FormatError } from "../format-error.js";
import { readHeader } from "./device-columns.js";
import { detectFormat, type FormatName, formats } from "./formats.js";
import { openPackage, readWorkbook } from "./xlsx-package.js";

/**
 * Makes those checks of an uploaded file that are quick, before a task reads all of it. @throws ApiError FORMAT_INVALID
 */
export async function checkFile(path: string): Promise<FormatName> {
  const format = await detectFormat(path);
  try {
    await checks[format](path);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new ApiError("FORMAT_INVALID", error.message, { file: error.message });
  }
  return format;
}

const checks: Readonly<Record<FormatName, (path: string) => Promise<void>>> = {
  csv: async (path) => {
    for await (const row of formats.csv.read(path)) {
      readHeader(row);
      return;
    }
    throw new FormatError("the file is empty");
  },
  // The header may be among the shared strings, after megabytes of others.
  xlsx: async (path) => {
    const zip = await openPackage(path);
    try {
      await readWorkbook(zip);
    } finally {
      zip.close();
    }
  },
};
