import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { assert, suite, withTempDir } from "../suite.js";
import { compileLedger, lossyDiskMissing, openDisk } from "./lossy-disk.js";

/** Writes, syncs and is killed. */
const program = `
  import * as fs from "node:fs";
  const open = (name) => fs.openSync(name, "a+");
  const write = (file, text) => fs.writeSync(file, text);
  const [kept, later, data, cut, never, mapped] =
    ["kept", "later", "data", "cut", "never", "0.index"].map(open);
  write(kept, "all of it"); fs.fsyncSync(kept);
  write(later, "synced"); fs.fsyncSync(later); write(later, ", and what came later");
  write(data, "synced"); fs.fdatasyncSync(data); write(data, ", and what came later");
  write(cut, "synced"); fs.fsyncSync(cut); fs.ftruncateSync(cut, 3); write(cut, "ow, unsynced");
  write(never, "not synced"); write(mapped, "an index");
  // Its inode may be used again.
  const gone = open("gone"); write(gone, "synced, and removed"); fs.fsyncSync(gone); fs.closeSync(gone); fs.rmSync("gone");
  write(open("again"), "not synced at all");
  fs.writeFileSync("draft", "whole", { flush: true }); fs.renameSync("draft", "renamed");
  process.kill(process.pid, "SIGKILL");`;

suite("a disk that loses what was not synced", (test) => {
  const missing = lossyDiskMissing();
  const name = "files are cut to what was synced, wherever they were renamed to, and maps of files are lost";
  if (missing !== undefined) test.skip(name, missing);
  else
    test(name, () =>
      withTempDir(async (dir) => {
        const [data, ledger] = [await mkdirIn(dir, "data"), join(dir, "synced")];
        await writeFile(join(data, "before"), "was there at first");
        const disk = openDisk(await compileLedger(dir), data, ledger);
        await disk.syncAll();
        const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
          cwd: data,
          env: disk.environment,
          stdio: ["ignore", "inherit", "inherit"],
        });
        const [, signal] = await once(child, "exit");
        assert.is(signal, "SIGKILL");
        await disk.loseUnsynced();
        const names = (await readdir(data)).sort();
        const found = await Promise.all(
          names.map(async (one) => [one, await readFile(join(data, one), "utf8")]),
        );
        assert.equal(Object.fromEntries(found), {
          again: "",
          before: "was there at first",
          cut: "syn",
          data: "synced",
          kept: "all of it",
          later: "synced",
          never: "",
          renamed: "whole",
        });
      }),
    );
});

async function mkdirIn(dir: string, name: string): Promise<string> {
  const path = join(dir, name);
  await mkdir(path);
  return path;
}
