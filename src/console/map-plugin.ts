/** What the build adds for maps: the outlines of the land as files, and Leaflet as the content security policy lets it run. */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Plugin } from "esbuild";
import { landOutlines } from "./land.js";

/** Leaflet tries by markup whether there is SVG. All browsers of the console have it, and no text may become markup. */
const trial = /var inlineSvg = [\s\S]*?\}\)\(\);/;

export const maps: Plugin = {
  name: "maps",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^tidemark:land-(coarse|fine)$/ }, ({ path }) => ({
      path: `${path.replace("tidemark:", "")}.bin`,
      namespace: "land",
    }));
    onLoad({ filter: /.*/, namespace: "land" }, async ({ path }) => ({
      contents: await landOutlines(path.includes("coarse") ? "coarse" : "fine"),
      loader: "file",
    }));
    onResolve({ filter: /^leaflet$/ }, () => ({
      path: createRequire(import.meta.url).resolve("leaflet/dist/leaflet-src.esm.js"),
    }));
    onLoad({ filter: /leaflet-src\.esm\.js$/ }, async ({ path }) => {
      const source = await readFile(path, "utf8");
      if (!trial.test(source)) throw new Error("Leaflet looks for SVG in another way than before");
      return { contents: source.replace(trial, "var inlineSvg = true;"), loader: "js" };
    });
  },
};
