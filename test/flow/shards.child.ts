/** The service with several shards (SHARDS: how many), in a process that can be killed. */
import { readConfig } from "../../src/config/config.js";
import { createLogger } from "../../src/observability/log.js";
import { serve } from "../../src/serve.js";
import { systemClock } from "../../store/lib/clock.js";

const { SHARDS, ...environment } = process.env;
const shards = Array.from({ length: Number(SHARDS) }, (_, i) => i);
const log = createLogger("info", (line) => process.stdout.write(line), systemClock.now);
const service = await serve({ ...readConfig(environment), shards, ownShards: shards }, log, (error) => {
  throw error;
});
process.once("SIGTERM", () => void service.close().then(() => process.exit(0)));
