import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Config, ConfigError } from "../config/config.js";
import { metadataAddress } from "./metadata.js";
import { replaceFile } from "./replace-file.js";

const keyPattern = /^[0-9a-f]{64}$/i;

const masterKeyPath = (config: Config): string => join(config.dataDir, "master.key");

/**
 * MASTER_KEY, or the key that the first start made in the data folder: 32 bytes. A missing key is not replaced, because
 * sealed data could never be opened with a new one. @throws ConfigError if it is missing or damaged
 */
export async function masterKey(config: Config): Promise<Uint8Array> {
  if (config.masterKey !== null) return config.masterKey;
  const text = await readSaved(config);
  if (keyPattern.test(text)) return Buffer.from(text, "hex");
  const fault = text === "" ? "is missing or empty" : "is damaged: it must hold 64 hexadecimal digits";
  throw new ConfigError([
    `${masterKeyPath(config)} ${fault}. It opens the tokens and private keys in the metadata and cannot be made again: restore it from a backup, or set MASTER_KEY`,
  ]);
}

/** The same for a deployment in which nothing is sealed yet; a missing key is made. */
export async function firstMasterKey(config: Config): Promise<Uint8Array> {
  if (config.masterKey === null && (await readSaved(config)) === "") {
    await replaceFile(masterKeyPath(config), randomBytes(32).toString("hex"));
  }
  return masterKey(config);
}

async function readSaved(config: Config): Promise<string> {
  const text = await readFile(masterKeyPath(config), "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return text.trim();
}

/** The key is right, and does not open the authority's. */
export function strangeAuthority(config: Config): ConfigError {
  const { url } = metadataAddress(config);
  return new ConfigError([
    `the private key of the authority in the metadata ${url} is not as the service sealed it: restore the metadata from a backup`,
  ]);
}

/** The key is not the one that sealed the metadata. */
export function wrongMasterKey(config: Config): ConfigError {
  const name = config.masterKey === null ? masterKeyPath(config) : "MASTER_KEY";
  return new ConfigError([
    `${name} is not the key that sealed the tokens and private keys in the metadata: restore the right one`,
  ]);
}
