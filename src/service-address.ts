import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "./config.js";

/** The running service that holds a data folder, and a key of it. */
export interface ServiceAddress {
  readonly http: string;
  readonly authorization: string;
}

/**
 * The service that holds the data folder, with the configured key or that of the first start; null where none
 * runs.
 */
export async function findService(config: Config): Promise<ServiceAddress | null> {
  const read = async (name: string): Promise<Record<string, string>> =>
    JSON.parse(await readFile(join(config.dataDir, name), "utf8").catch(() => "{}")) as Record<
      string,
      string
    >;
  const { http } = await read("service.json");
  if (http === undefined || !(await answers(http))) return null;
  const key =
    config.apiKey === null
      ? (await read("first-start.json")).apiKey
      : `${config.apiKey.appID}:${config.apiKey.appSecret}`;
  return { http, authorization: `Bearer ${key ?? ""}` };
}

/** A killed service leaves its address behind. */
function answers(http: string): Promise<boolean> {
  return fetch(`${http}/healthz`).then(
    (response) => response.ok,
    () => false,
  );
}
