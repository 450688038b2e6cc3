/** Where the devices of a fleet stand. */
import { scattered } from "./waves.js";

interface Site {
  readonly name: string;
  readonly latitude: number;
  readonly longitude: number;
}

const sites: readonly Site[] = (
  [
    ["Hamburg", 53.55, 9.99],
    ["Rotterdam", 51.92, 4.48],
    ["Zürich", 47.37, 8.54],
    ["Lyon", 45.76, 4.84],
    ["Porto", 41.15, -8.61],
    ["Bergen", 60.39, 5.32],
    ["Gdańsk", 54.35, 18.65],
    ["Wien", 48.21, 16.37],
    ["Dublin", 53.35, -6.26],
    ["Göteborg", 57.71, 11.97],
    ["Torino", 45.07, 7.69],
    ["Valencia", 39.47, -0.38],
    ["Seattle", 47.61, -122.33],
    ["Boston", 42.36, -71.06],
    ["Santiago", -33.45, -70.67],
    ["Nairobi", -1.29, 36.82],
    ["Cape Town", -33.92, 18.42],
    ["Bengaluru", 12.97, 77.59],
    ["Singapore", 1.35, 103.82],
    ["上海", 31.23, 121.47],
    ["苏州", 31.3, 120.58],
    ["青岛", 36.07, 120.38],
    ["札幌", 43.06, 141.35],
    ["Auckland", -36.85, 174.76],
  ] as const
).map(([name, latitude, longitude]) => ({ name, latitude, longitude }));

/** Degrees to each side within which the devices of a site lie. */
const reach = 0.06;

/** The site of the nth device, and its place there. */
export function createSite(n: number): Site {
  const site = sites[n % sites.length] as Site;
  const beside = (seed: number) => Number(((scattered(seed) - 0.5) * 2 * reach).toFixed(5));
  return {
    name: site.name,
    latitude: site.latitude + beside(2 * n + 1),
    longitude: site.longitude + beside(2 * n + 2),
  };
}
