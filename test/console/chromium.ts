/** Debian's Chromium, or the one that CHROMIUM names. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** The same browser without a window: it takes half of the CPU time. */
const headless = "/usr/bin/chromium-headless-shell";
const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

const found = (...paths: readonly string[]): string | undefined =>
  [process.env.CHROMIUM ?? "", ...paths].find((path) => existsSync(path));

export const hasChromium = found(headless, ...places) !== undefined;

/** As people have it. @throws Error without one */
export const launchChromium = (): Promise<Browser> => launch(found(...places, headless));

/**
 * For what a page does, not for how long it takes.
 * @param environment beside that of the process
 * @throws Error without one
 */
export const launchHeadless = (environment: Readonly<Record<string, string>> = {}): Promise<Browser> =>
  launch(found(headless, ...places), environment);

async function launch(
  executablePath: string | undefined,
  environment: Readonly<Record<string, string>> = {},
): Promise<Browser> {
  if (executablePath === undefined) {
    throw new Error("there is no Chromium: apt-get install chromium-headless-shell, or name one by CHROMIUM");
  }
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none"];
  return chromium.launch({ executablePath, args, env: { ...process.env, ...environment } });
}
