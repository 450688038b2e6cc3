// Writes openapi.json beside the compiled sources: a step of the build. No store is opened for it.
import { writeFile } from "node:fs/promises";
import { openApiDocument } from "../reference/document.js";
import { builtDocument } from "../reference/files.js";
import { inertDeps } from "../reference/stub-dependencies.js";
import { apiRoutes } from "./routes.js";

await writeFile(builtDocument, JSON.stringify(openApiDocument(apiRoutes(inertDeps()))));
