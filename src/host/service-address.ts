import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config/config.js";
import { readCredentials } from "./first-start.js";

/** The running service that holds a data folder, and a key of it. */
export interface ServiceAddress {
  readonly http: string;
  readonly authorization: string;
}

/** The service that holds the data folder, with the configured key or that of the first start; null if none runs. */
export async function findService(config: Config): Promise<ServiceAddress | null> {
  const http = await runningAddress(join(config.dataDir, "service.json"));
  if (http === null || !(await answers(http))) return null;
  const key =
    config.apiKey === null
      ? (await readCredentials(join(config.dataDir, "first-start.json")))?.apiKey
      : `${config.apiKey.appID}:${config.apiKey.appSecret}`;
  return { http, authorization: `Bearer ${key ?? ""}` };
}

/** Null if no address is written or the file is damaged: the data folder's lock then names its owner. */
async function runningAddress(path: string): Promise<string | null> {
  try {
    const { http } = JSON.parse(await readFile(path, "utf8")) as { http?: unknown };
    return typeof http === "string" ? http : null;
  } catch {
    return null;
  }
}

/** A killed service leaves its address behind. */
function answers(http: string): Promise<boolean> {
  return fetch(`${http}/healthz`).then(
    (response) => response.ok,
    () => false,
  );
}
