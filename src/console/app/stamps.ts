/** Stamps of records: `2026-11-21 10:00:00`, by the wall clock of the deployment's zone. */
import { timeOf, wallText } from "./charts/zone.js";
import { me } from "./session.js";

const zoneOf = (): string => me.value?.timezone ?? "UTC";

export const timeOfStamp = (text: string): number =>
  timeOf(zoneOf(), Date.parse(`${text.replace(" ", "T")}Z`));

export const stampOf = (time: number): string => wallText(zoneOf(), Math.floor(time / 1000) * 1000);
