import { fileURLToPath } from "node:url";

/** The service as it is shipped: what `npm start` runs. */
export const program = fileURLToPath(new URL("../service/src/main.js", import.meta.url));

const { NODE_COMPILE_CACHE: compiled } = process.env;

/**
 * What a process of it is given besides what a test says: arenas of malloc, as its image and its unit have them, and
 * the runner's folder of compiled code, for a shorter start.
 */
export const programEnvironment: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: "2",
  ...(compiled === undefined ? {} : { NODE_COMPILE_CACHE: compiled }),
};
