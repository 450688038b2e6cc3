/** The backups of the service in the console: begun, followed, verified, restored by a command, deleted. */
import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unique } from "../factories.js";
import { assert, until } from "../suite.js";
import { consoleSuite } from "./browser.js";

const dir = mkdtempSync(join(tmpdir(), "tidemark's backups "));

consoleSuite(
  "console: backups",
  (test, world, web) => {
    test.after(() => rmSync(dir, { recursive: true, force: true }));
    const at = "/system?tab=backups";

    test("one is begun and followed, verified, and its restore command copied; deleting asks once more", async () => {
      const { page } = await web.openIn(at, { permissions: ["clipboard-read", "clipboard-write"] });
      await page.getByText("no complete backup", { exact: true }).waitFor();
      await page.getByText("No backups yet").waitFor();
      await writeFile(join(world.dataDir, "ballast"), Buffer.alloc(40_000_000, 1));
      await page.getByRole("button", { name: "Back up now" }).click();
      await page.getByText("is being made; the service goes on").waitFor();
      assert.ok(await page.getByRole("button", { name: "Back up now" }).isDisabled());
      await page.getByRole("progressbar").waitFor();
      await page.getByText("done", { exact: true }).waitFor();
      await rm(join(world.dataDir, "ballast"));
      const row = page.getByRole("row").filter({ hasText: "metadata and points" });
      await row.getByText("complete", { exact: true }).waitFor();
      await page.getByText(/^last complete backup /).waitFor();

      await row.getByRole("button", { name: "Restore" }).click();
      const [name = ""] = await readdir(dir);
      const quoted = join(dir, name).replaceAll("'", `'\\''`);
      const command = `DATA_DIR=/srv/restored tidemark restore '${quoted}'`;
      assert.is(await page.locator("pre.secret").innerText(), command);
      await page.getByRole("button", { name: "Copy", exact: true }).click();
      assert.is(await page.evaluate("navigator.clipboard.readText()"), command);

      await row.getByRole("button", { name: "Verify" }).click();
      await until(async () => (await readdir(dir)).includes(`${name}.verified.json`), {
        what: "its verification",
      });
      await until(async () => (await row.locator("time").count()) === 2, { what: "when it was verified" });

      await row.getByRole("button", { name: "Delete" }).click();
      await page.getByText("It goes for good. Sure?").waitFor();
      await page.getByRole("button", { name: "Cancel" }).click();
      assert.is((await readdir(dir)).length, 2);
      await row.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
      await page.getByText("No backups yet").waitFor();
      assert.equal(await readdir(dir), []);
    });

    test("a failure is shown in words with the folder's, and a killed backup can be deleted", async () => {
      await mkdir(join(dir, "20261120T030000Z.unfinished"));
      const { page } = await web.openIn(at);
      const row = page.getByRole("row").filter({ hasText: "unfinished" });
      await row.waitFor();
      assert.is(await row.getByRole("button", { name: "Verify" }).count(), 0);
      await row.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
      await row.waitFor({ state: "detached" });
      await rename(dir, `${dir}.away`);
      await page.getByRole("button", { name: "Back up now" }).click();
      await page.locator(".task").getByText("it is not there (ENOENT)").waitFor();
      await rename(`${dir}.away`, dir);
      await page.getByText(/^The newest backup failed: .*it is not there/).waitFor();
      await page.getByRole("link", { name: "Health" }).click();
      await page.getByText("the last one failed: its task and the log say why").waitFor();
    });

    test("a phone shows it without scrolling sideways, in Chinese too; an operator sees no such tab", async () => {
      await world.call("POST", "/api/v1/backups");
      const viewport = { width: 360, height: 740 };
      const { page } = await web.openIn(at, { viewport });
      for (const words of ["Back up now", "立即备份"]) {
        await page.getByRole("button", { name: words }).waitFor();
        await page.getByRole("table").waitFor();
        const width = await page.evaluate<number>("document.documentElement.scrollWidth");
        assert.ok(width <= 360, `${words}: ${width}`);
        await page.evaluate("localStorage.setItem('tidemark.language', 'zh')");
        await page.reload();
      }
      const user = { username: unique("operating"), password: "correct horse battery" };
      await world.make("/api/v1/users", { ...user, role: "operator" });
      const other = await web.openIn(at, { user });
      await other.page.getByRole("heading", { level: 1 }).waitFor();
      assert.is(await other.page.getByRole("link", { name: "Backups" }).count(), 0);
      assert.is(await other.page.getByRole("button", { name: "Back up now" }).count(), 0);
    });
  },
  { BACKUP_DIR: dir, BACKUP_KEEP: "14", BACKUP_SCHEDULE: "0 3 * * *" },
);
