// Writes openapi.json beside the compiled sources: a step of the build. No store is opened for it.
import { writeFile } from "node:fs/promises";
import { apiRoutes } from "../http/api.js";
import { openApiDocument } from "./document.js";
import { builtDocument } from "./files.js";
import { inertDeps } from "./inert.js";

await writeFile(builtDocument, JSON.stringify(openApiDocument(apiRoutes(inertDeps()))));
