import { setTimeout as delay } from "node:timers/promises";
import type { DemoClient } from "./client.js";

const pollMs = 50;

/** Imports a CSV file of points; resolves with how many there are once all can be read. */
export async function importPoints(client: DemoClient, file: string): Promise<number> {
  const type = { "Content-Type": "text/csv" };
  const { statusUrl } = JSON.parse(await client.send("POST", "/api/v1/original_data", type, file)) as {
    statusUrl: string;
  };
  for (;;) {
    const { state, msg } = await client.get<{ state: string; msg: { import_success_num: number } }>(
      statusUrl,
    );
    if (state === "SUCCESS") return msg.import_success_num;
    if (state === "FAILURE") throw new Error(`cannot import: ${JSON.stringify(msg)}`);
    await delay(pollMs);
  }
}
