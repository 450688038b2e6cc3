import { readFileSync } from "node:fs";
import type { DemoClient } from "./client.js";
import { importPoints } from "./import-points.js";
import { thousands } from "./print.js";
import type { Station } from "./station.js";
import { yearFile } from "./weather.js";

/**
 * History in and out: the whole weather file is imported for a second station unchanged, except for its header and the
 * station's name before each row. Both stations are then exported, and their points must be the same.
 */
export async function archive(
  client: DemoClient,
  http: string,
  station: Station,
  say: (text: string) => void,
): Promise<void> {
  const deviceID = `${station.deviceID}-archive`;
  await client.post("/api/v1/devices", {
    deviceName: "Seattle, from the file",
    deviceType: 1,
    deviceID,
    productID: station.productID,
    cloudProtocol: 1,
    authType: 1,
    upLinkSystem: 1,
  });
  const [, ...lines] = readFileSync(yearFile(), "utf8").trim().split("\n");
  const rows = [
    "deviceID,time,pressure,temperature,wind",
    ...lines.map((line) => `${deviceID},${utc(line)}`),
  ];
  say("\nThe archivist imports the weather file, one column a data point:");
  say(
    `  curl -sS -H "Authorization: Bearer $KEY" -H 'Content-Type: text/csv' --data-binary @weather.csv '${http}/api/v1/original_data'`,
  );
  const startedAt = performance.now();
  const stored = await importPoints(client, rows.join("\n"));
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(2);
  say(`  ${thousands(stored)} points of ${thousands(lines.length)} rows stored in ${seconds} s`);
  say("and exports both stations:");
  const path = (id: string) => `/api/v1/original_data?deviceID=${id}`;
  const both = `${station.deviceID},${deviceID}`;
  say(`  curl -sS -H "Authorization: Bearer $KEY" -H 'Accept: text/csv' --compressed '${http}${path(both)}'`);
  const [sent, imported] = await Promise.all(
    [station.deviceID, deviceID].map((id) => exported(client, path(id))),
  );
  const same = sent?.map(withoutDevice).join("\n") === imported?.map(withoutDevice).join("\n");
  for (const line of imported?.slice(0, 3) ?? []) say(`  ${line}`);
  say(
    same
      ? `  … ${thousands((imported?.length ?? 1) - 1)} points, the same from the file as from the device`
      : "  the stations differ",
  );
  if (!same) throw new Error("what was imported is not what the device sent");
}

/** The file's times have no offset and are read as UTC. */
const utc = (line: string): string => line.replace(/^[^,]+/, (date) => `${date.replace(" ", "T")}Z`);
const withoutDevice = (line: string): string => line.slice(line.indexOf(",") + 1);

async function exported(client: DemoClient, path: string): Promise<string[]> {
  return (await client.send("GET", path, { Accept: "text/csv" })).trim().split("\r\n");
}
