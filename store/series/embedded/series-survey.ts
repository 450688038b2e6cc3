import { storedSeries } from "./part-file.js";
import type { Parts } from "./parts.js";
import { createSeriesSet } from "./series-set.js";
import type { StoredPart } from "./stored-part.js";

/** Looks through the parts whose series are not known: those of an older format, from a backup, after a kill. */
interface SeriesSurvey {
  /** Looks at some series of one part; false when all parts are known. */
  step(): Promise<boolean>;
}

const seriesAStepMax = 4096;

export function createSeriesSurvey(parts: Parts): SeriesSurvey {
  let look: { part: StoredPart; after: number } | undefined;

  return {
    step: async () => {
      if (look === undefined || !parts.list().includes(look.part)) {
        const part = parts.list().find(({ held }) => held === null);
        if (part === undefined) return false;
        part.looking = createSeriesSet();
        look = { part, after: 0 };
      }
      const { part, after } = look;
      const series = await parts.use(part, (client) => storedSeries(client, after, seriesAStepMax));
      part.looking?.add(series);
      look.after = series.at(-1) ?? after;
      if (series.length < seriesAStepMax) {
        await parts.looked(part);
        look = undefined;
      }
      return true;
    },
  };
}
