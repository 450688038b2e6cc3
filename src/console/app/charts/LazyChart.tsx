/** The chart, whose library is loaded with the first one that is drawn. */
import { lazily } from "../lazy.js";

export const Chart = lazily(async () => (await import("./Chart.js")).Chart);
