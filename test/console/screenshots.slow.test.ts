/** The program that takes pictures of the console, with a fleet of forty. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { assert, openTempDir, suite } from "../suite.js";
import { hasChromium } from "./chromium.js";

const program = fileURLToPath(new URL("../../bench/screenshots/screenshots.js", import.meta.url));
const pngSignature = "89504e470d0a1a0a";

/** Where a PNG has its width: a number of four bytes behind the signature and the head of its first part. */
const widthOf = (png: Buffer): number => png.readUInt32BE(16);

suite("console: screenshots", (test) => {
  const title = "take the pages that are asked for, as wide as is asked";
  async function takesThem(): Promise<void> {
    const dir = await openTempDir();
    const args = ["--to", dir.path, "--devices", "40", "--widths", "360", "--themes", "dark"];
    const child = spawn(process.execPath, [program, ...args, "--only", "login,devices"], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let output = "";
    child.stderr.on("data", (chunk) => {
      output += String(chunk);
    });
    const [code] = await once(child, "close");
    assert.is(code, 0, output);
    const names = (await readdir(dir.path)).sort();
    assert.equal(names, ["devices-360-dark.png", "login-360-dark.png"]);
    const [devices, login] = await Promise.all(names.map((name) => readFile(`${dir.path}/${name}`)));
    for (const picture of [devices, login]) {
      assert.is(picture?.subarray(0, 8).toString("hex"), pngSignature);
      // Nothing is wider than the window, so the whole page is as wide.
      assert.is(widthOf(picture as Buffer), 360);
    }
    assert.not.equal(devices, login);
    await dir.close();
  }
  if (hasChromium) test(title, takesThem, { timeoutMs: 120_000 });
  else test.skip(title, "there is no Chromium: apt-get install chromium, or name one by CHROMIUM", takesThem);
});
