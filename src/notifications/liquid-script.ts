import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { resolve } = createRequire(import.meta.url);

/** The text of liquidjs as one script, which defines the global `liquidjs`; the bundle holds it. */
export const liquidScript = readFileSync(resolve("liquidjs/dist/liquid.browser.min.js"), "utf8");
