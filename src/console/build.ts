/**
 * A step of the build: puts the console's application into files that a browser loads, dist/console, with hashed names
 * and packed beforehand. Fails if they are larger than they may be.
 */
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { type BuildOptions, build, type Metafile, type Plugin } from "esbuild";
import { formsOf } from "./forms.js";
import { maps } from "./map-plugin.js";
import { pageOf } from "./page.js";
import { type BuiltFile, sizesOf } from "./sizes.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const folder = join(root, "dist/console");
const assets = join(folder, "assets");

/** A file packed to less than this share of itself is kept packed. */
const worthPacking = 0.9;

/** What the application imports as `tidemark:forms`. */
const forms: Plugin = {
  name: "forms",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^tidemark:forms$/ }, ({ path }) => ({ path, namespace: "forms" }));
    onLoad({ filter: /.*/, namespace: "forms" }, async () => {
      const document = await readFile(join(root, "dist/openapi.json"), "utf8");
      return { contents: `export const forms = ${JSON.stringify(formsOf(JSON.parse(document)))};` };
    });
  },
};

const options = {
  outdir: assets,
  bundle: true,
  write: false,
  metafile: true,
  minify: true,
  platform: "browser",
  target: ["chrome120", "firefox121", "safari17"],
  entryNames: "[name]-[hash]",
  legalComments: "none",
  logLevel: "warning",
  tsconfig: join(root, "src/console/tsconfig.json"),
  absWorkingDir: root,
} as const satisfies BuildOptions;

/** A script of its own: the pages import it whole, where there is no worker. */
const worker = await build({
  ...options,
  entryPoints: { live: join(root, "src/console/app/live/worker.ts") },
  format: "esm",
});
const [workerFile] = worker.outputFiles;
if (workerFile === undefined) throw new Error("the build made no worker");

/** What the application imports as `tidemark:live-worker`. */
const liveWorker: Plugin = {
  name: "live-worker",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^tidemark:live-worker$/ }, ({ path }) => ({ path, namespace: "live-worker" }));
    const address = `/console/assets/${basename(workerFile.path)}`;
    onLoad({ filter: /.*/, namespace: "live-worker" }, () => ({
      contents: `export const liveWorker = ${JSON.stringify(address)};`,
    }));
  },
};

const result = await build({
  ...options,
  entryPoints: { main: join(root, "src/console/app/main.tsx") },
  splitting: true,
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  loader: { ".woff2": "file" },
  plugins: [forms, maps, liveWorker],
});

await rm(folder, { recursive: true, force: true });
await mkdir(assets, { recursive: true });
const files: BuiltFile[] = [];
for (const { path, contents } of [workerFile, ...result.outputFiles]) {
  const name = basename(path);
  const gzip = gzipSync(contents, { level: 9 });
  const brotli = brotliCompressSync(contents, {
    params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
  });
  await writeFile(join(assets, name), contents);
  const isPacked = gzip.length < contents.length * worthPacking;
  if (isPacked) {
    await writeFile(join(assets, `${name}.gz`), gzip);
    await writeFile(join(assets, `${name}.br`), brotli);
  }
  files.push({
    name,
    gzipBytes: isPacked ? gzip.length : contents.length,
    ...placeOf(result.metafile, name),
  });
}
const script = nameOf("main", ".js");
const style = nameOf("main", ".css");
const page = pageOf({ script, style });
await writeFile(join(folder, "index.html"), page);

const sizes = sizesOf([script, style], files);
const firstLoad = sizes.firstLoad + gzipSync(page).length;
process.stderr.write(
  `tidemark: the console takes ${kilobytes(firstLoad)} at first, ${kilobytes(sizes.total)} in all, and ${kilobytes(sizes.map)} for maps\n`,
);
if (sizes.excess.length > 0) {
  process.stderr.write(`tidemark: ${sizes.excess.join("\ntidemark: ")}\n`);
  process.exit(1);
}
// The bundled service finds it beside its own files.
await cp(folder, join(root, "dist/service/console"), { recursive: true, force: true });

/** What a built file is made of, as esbuild's account has it. */
function placeOf(metafile: Metafile, name: string): Pick<BuiltFile, "imports" | "entry"> {
  const found = Object.entries(metafile.outputs).find(([path]) => basename(path) === name)?.[1];
  const imports = (found?.imports ?? [])
    .filter(({ kind }) => kind === "import-statement")
    .map(({ path }) => basename(path));
  return { imports, entry: found?.entryPoint ?? null };
}

function nameOf(entry: string, ending: string): string {
  const name = files.find((file) => file.name.startsWith(`${entry}-`) && file.name.endsWith(ending))?.name;
  if (name === undefined) throw new Error(`the build made no ${entry}…${ending}`);
  return name;
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
