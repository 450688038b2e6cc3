/** Debian's Chromium, or the one that CHROMIUM names. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const places = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];
const executablePath = places.find((path) => path !== undefined && existsSync(path));

export const hasChromium = executablePath !== undefined;

/**
 * @param environment beside that of the process
 * @throws Error without one
 */
export async function launchChromium(
  more: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<Browser> {
  if (executablePath === undefined) {
    throw new Error("there is no Chromium: apt-get install chromium, or name one by CHROMIUM");
  }
  const args = ["--no-sandbox", "--disable-dev-shm-usage", "--font-render-hinting=none", ...more];
  return chromium.launch({ executablePath, args, env: { ...process.env, ...environment } });
}
