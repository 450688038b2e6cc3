/** Values as GET /original_data answers them, and how many of them are worth asking for. */

/** The values of one data point of a device. The answer has more fields for requests that name several. */
export interface OriginalData {
  readonly dataPointIntID: number;
  readonly originalData: {
    readonly time: readonly number[];
    readonly value: readonly (number | string | boolean | null)[];
  };
}

const [pixelsMin, pixelsMax] = [320, 4000];

/** As many points as this screen can show separately: two a pixel, the lowest and the highest. */
export const pointsOnScreen = (): number => 2 * Math.max(pixelsMin, Math.min(innerWidth, pixelsMax));
