/**
 * Readings that look like those of the world: a mean, the seasons, the hours of the day, and noise. Each is a function of
 * the time and of the device's number alone, so that history and what comes live are one line.
 */

/** What commands have set, by dataPointID. */
export type Settings = ReadonlyMap<string, number>;
export type WaveReading = (time: number, device: number, settings: Settings) => number | boolean;

const minute = 60_000;
const day = 1440 * minute;
const year = 365.25 * day;
/** The warmest day of a year and hour of a day, in the north and by UTC. */
const [warmestDay, warmestHour] = [200, 14];

interface Wave {
  readonly mean: number;
  /** How far the means of devices lie apart. */
  readonly spread?: number;
  readonly seasons?: number;
  readonly days?: number;
  readonly noise?: number;
  readonly decimals?: number;
  readonly min?: number;
  readonly max?: number;
}

export function wave(form: Wave): WaveReading {
  const { mean, spread = 0, seasons = 0, days = 0, noise = 0, decimals = 1 } = form;
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = form;
  return (time, device) => {
    const value =
      mean +
      spread * (scattered(device) - 0.5) +
      seasons * Math.cos((2 * Math.PI * (time - warmestDay * day)) / year) +
      days * Math.cos((2 * Math.PI * (time - (warmestHour / 24) * day)) / day) +
      noise * (0.7 * smooth(time / (40 * minute), device) + 0.3 * smooth(time / minute, device));
    return rounded(Math.min(Math.max(value, min), max), decimals);
  };
}

/** Whether something that happens now and then is going on: of every device at another time. */
export function spell(
  time: number,
  device: number,
  { everyMinutes, minutes }: { readonly everyMinutes: number; readonly minutes: number },
): boolean {
  const period = everyMinutes * minute;
  const into = (time + scattered(device) * period) % period;
  return into < minutes * minute;
}

/** What commands have set, or where it stands from the factory. */
export function setting(dataPointID: string, otherwise: number): WaveReading {
  return (_, __, settings) => settings.get(dataPointID) ?? otherwise;
}

export function rounded(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}

/** A number from 0 to 1, always the same for the same whole number. */
export function scattered(seed: number): number {
  let bits = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
}

/** From -1 to 1, without jumps. */
function smooth(at: number, seed: number): number {
  const whole = Math.floor(at);
  const part = at - whole;
  const eased = part * part * (3 - 2 * part);
  const [from, to] = [whole, whole + 1].map((n) => 2 * scattered(Math.imul(n, 7919) + seed) - 1) as [
    number,
    number,
  ];
  return from + (to - from) * eased;
}
