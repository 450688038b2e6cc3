// A step of the build: writes openapi.json beside the compiled sources, without opening any store.
import { writeFile } from "node:fs/promises";
import { openApiDocument } from "../reference/document.js";
import { builtDocument } from "../reference/files.js";
import { inertDeps } from "../reference/stub-dependencies.js";
import { apiRoutes } from "./routes.js";

await writeFile(builtDocument, JSON.stringify(openApiDocument(apiRoutes(inertDeps()))));
