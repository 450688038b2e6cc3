import { storedSeries } from "./part-file.js";
import type { Parts } from "./parts.js";
import { createSeriesSet } from "./series-set.js";
import type { StoredPart } from "./stored-part.js";

/** Finds the series of parts where they are not known: in an older format, after a kill, or put back from a backup. */
interface SeriesSurvey {
  /** Looks for some series in one part; false when the series of all parts are known. */
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
