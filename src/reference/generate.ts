// Writes openapi.json beside the compiled sources: a step of the build. No store is opened for it.
import { writeFile } from "node:fs/promises";
import { apiRoutes } from "../api.js";
import type { AppDeps } from "../deps.js";
import { openApiDocument } from "./document.js";
import { builtDocument } from "./files.js";

await writeFile(builtDocument, JSON.stringify(openApiDocument(apiRoutes(inert()))));

/** Stands for everything that handlers use: routes are listed, none is called. */
function inert(): AppDeps {
  const nothing: object = new Proxy(() => undefined, {
    get: (_target, key) => (key === "then" ? undefined : nothing),
    apply: () => nothing,
  });
  return nothing as AppDeps;
}
