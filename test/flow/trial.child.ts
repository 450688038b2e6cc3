/** Trials of records in a process whose threads are poisoned too; prints the verdicts. */

import { runTrial } from "../../src/service/trial/trial.js";
import type { Follower } from "../../store/journal/dead-letters.js";
import type { JournalRecord } from "../../store/journal/record.js";
import { encodedRecord } from "../../store/journal/record-codecs.js";
import { earliestTime } from "../../store/lib/time-range.js";
import { openConsumerWorld } from "../ingest/consumers/support.js";
import { journalRecord } from "../store/journal/support.js";
import { poisons } from "./poison.js";

const world = await openConsumerWorld();
const { device, tenant } = world;

function record(payload: string): JournalRecord {
  const now = Date.now() * 1000;
  return journalRecord(5, now, { device, tenant, payload: Buffer.from(payload) });
}

async function verdictOn(follower: Follower, payload: string, bounds?: { heap?: number; time?: number }) {
  const records = [encodedRecord(record(payload))];
  const start = {
    follower,
    node: 0,
    timezone: "UTC",
    earliest: earliestTime,
    oldest: 0,
    records,
    saved: null,
  };
  const { heap = 64, time = 60_000 } = bounds ?? {};
  return runTrial(world.store.db, start, { heapMegabytesMax: heap, timeMaxMs: time });
}

// What is tried when it is replayed lies after what has been worked off.
const alerts = await world.alerts();
for (let i = 0; i < 8; i++) await world.send({ temp: i });
await world.settled(alerts);
await alerts.close();
const many = JSON.stringify(Array.from({ length: 9900 }, (_, i) => ({ temp: i % 100, time: 1.7e9 + i })));
const answers = {
  harmless: [
    await verdictOn("series", '{"temp":1}'),
    await verdictOn("alerts", '{"temp":60}'),
    await verdictOn("alerts", '{"Telemetry":[{"DeviceID":"d","temp":1}]}'),
    await verdictOn("sessions", '{"temp":1}'),
    await verdictOn("series", many),
    await verdictOn("alerts", many),
    await verdictOn("series", "no JSON"),
  ],
  memory: [
    await verdictOn("series", `["${poisons.memory}"]`),
    await verdictOn("alerts", `["${poisons.memory}"]`),
  ],
  time: [await verdictOn("series", `["${poisons.time}"]`, { time: 1500 })],
  early: [await verdictOn("series", '{"temp":1}', { heap: 5 })],
};
await world.close();
process.stdout.write(`${JSON.stringify(answers)}\n`);
// The suite, which the world is made of, takes a run without tests for a failure.
process.on("exit", () => {
  process.exitCode = 0;
});
