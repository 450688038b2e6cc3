import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** One hour of weather: hectopascals, degrees Celsius, metres a second. `time` in milliseconds since 1970. */
export interface Hour {
  readonly time: number;
  readonly pressure: number;
  readonly temperature: number;
  readonly wind: number;
}

/** Seattle's hourly normals for 2010, 8,759 hours from 2010-01-01 01:00; its times are read as UTC. */
export function readYear(): Hour[] {
  const [, ...lines] = readFileSync(yearFile(), "utf8").trim().split("\n");
  return lines.map((line) => {
    const [date = "", pressure, temperature, wind] = line.split(",");
    const hour = {
      time: Date.parse(`${date}Z`),
      pressure: Number(pressure),
      temperature: Number(temperature),
      wind: Number(wind),
    };
    if (!Object.values(hour).every(Number.isFinite)) throw new Error(`cannot read the weather: ${line}`);
    return hour;
  });
}

/** The file comes with the package vega-datasets. */
export function yearFile(): string {
  const entry = import.meta.resolve("vega-datasets");
  return fileURLToPath(new URL("../data/seattle-weather-hourly-normals.csv", entry));
}
