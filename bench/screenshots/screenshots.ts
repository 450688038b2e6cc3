/**
 * npm run screenshots [-- --to FOLDER] [--readme] [--only NAME,NAME] [--devices N] [--widths 1440,1024,360]
 * [--themes light,dark] [--locale zh-CN]: fills a service of its own and takes every page of the console as PNG.
 * `--readme` writes the two that README shows instead.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createClient } from "../../src/demo/client.js";
import { startDemoService } from "../../src/demo/service.js";
import { repositoryRoot } from "../../test/repository.js";
import { type Look, openCamera } from "./camera.js";
import { loginPage, pagesOf, readmePages } from "./pages.js";
import { makeScene, type Scene } from "./scene.js";

const { values: flags } = parseArgs({
  options: {
    to: { type: "string", default: "screenshots" },
    readme: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    devices: { type: "string", default: "2000" },
    widths: { type: "string", default: "1440,1024,360" },
    themes: { type: "string", default: "light,dark" },
    locale: { type: "string", default: "en-GB" },
  },
});
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const readmeLook: Look = { width: 1200, height: 720, theme: "light", locale: "en-GB" };
const readmeBytesMax = 150_000;

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const service = await startDemoService(process.env);
let scene: Scene | null = null;
try {
  const first = JSON.parse(await readFile(join(service.own?.dir ?? "", "data/first-start.json"), "utf8"));
  scene = await makeScene(createClient(service.http, service.key), service.mqtt, Number(flags.devices), say);
  await (flags.readme ? forReadme(scene, first) : all(scene, first));
} finally {
  await scene?.close();
  await service.close();
}

async function forReadme(scene: Scene, user: { username: string; password: string }): Promise<void> {
  const folder = join(repositoryRoot(), "docs/images");
  const pages = pagesOf(scene);
  const camera = await openCamera(service.http, user, readmeLook);
  try {
    for (const name of readmePages) {
      const picture = await camera.take(pages[name] ?? "/", false);
      if (picture.length > readmeBytesMax) throw new Error(`${name} has ${picture.length} bytes`);
      await write(folder, `console-${name}`, picture);
    }
  } finally {
    await camera.close();
  }
}

async function all(scene: Scene, user: { username: string; password: string }): Promise<void> {
  for (const width of flags.widths.split(",").map(Number)) {
    for (const theme of flags.themes.split(",") as Look["theme"][]) {
      const look = { width, height: width < 720 ? 780 : 900, theme, locale: flags.locale };
      await takePages({ [loginPage]: "/" }, null, look);
      await takePages(pagesOf(scene), user, look);
    }
  }
}

async function takePages(
  pages: Readonly<Record<string, string>>,
  user: { username: string; password: string } | null,
  look: Look,
): Promise<void> {
  const wanted = Object.entries(pages).filter(
    ([name]) => flags.only === "" || flags.only.split(",").includes(name),
  );
  if (wanted.length === 0) return;
  const camera = await openCamera(service.http, user, look);
  try {
    for (const [name, path] of wanted) {
      await write(flags.to, `${name}-${look.width}-${look.theme}`, await camera.take(path, true));
    }
  } finally {
    await camera.close();
  }
}

async function write(folder: string, name: string, picture: Buffer): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}.png`), picture);
  say(`${name}.png ${Math.round(picture.length / 1000)} kB`);
}
