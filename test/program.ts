import { fileURLToPath } from "node:url";

/** The service as it is shipped: what `npm start` runs. */
export const program = fileURLToPath(new URL("../service/src/main.js", import.meta.url));
