/** Commands and schedules, as a person sends and makes them. */

import { commandBody, nothingTyped } from "../../src/console/app/commands/command.js";
import { ownTime, timingBody } from "../../src/console/app/commands/schedule.js";
import { deviceBody, groupBody, productBody, unique } from "../factories.js";
import { assert, suite, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";
import { learnZones } from "./zones-known.js";

const typedTiming = { kind: "once", at: "", zone: "UTC", minutes: "", cron: "" } as const;

suite("console: bodies of commands", (test) => {
  test.before(() => learnZones("UTC", "Europe/Zurich", "Asia/Shanghai"));

  test("what is left empty is left to the service", () => {
    const typed = { ...nothingTyped, payload: "on" };
    assert.equal(commandBody({ kind: "gateway", id: "7" }, typed), {
      deviceIntID: 7,
      payload: "on",
      qos: 1,
    });
    assert.equal(
      commandBody({ kind: "group", id: "8" }, { ...typed, topic: " vent ", ttl: "60", needAck: false }),
      { groupIntID: 8, payload: "on", qos: 1, topic: "vent", ttl: "60", needAck: 0 },
    );
  });

  test("a moment of the chosen zone is sent by the clock of the service", () => {
    const at = { ...typedTiming, at: "2026-11-24T14:30", zone: "Europe/Zurich" };
    assert.is(ownTime(at, "Asia/Shanghai"), "2026-11-24 21:30:00");
    assert.equal(timingBody(at, "UTC"), { scheduleType: 0, crontabTime: "2026-11-24 13:30:00" });
    assert.equal(timingBody({ ...typedTiming, kind: "every", minutes: "15 " }, "UTC"), {
      scheduleType: 1,
      IntervalMinute: "15",
    });
  });
});

for (const variant of ["A", "B"]) {
  consoleSuite(
    `console: commands, variant ${variant}`,
    (test, world, web) => {
      const asA = { headers: { "Api-Variant": "A" } };
      let device: Rec;
      let group: Rec;
      test.before(async () => {
        const product = await world.make("/api/v1/products", productBody(), asA);
        const fields = { deviceName: unique("<b>Kiln</b>") };
        device = await world.make("/api/v1/devices", deviceBody(product, fields), asA);
        group = await world.make("/api/v1/groups", groupBody(product), asA);
        await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [device.id] });
      });

      test("a command goes to a device that is searched for, with its receipt; a refused one stays", async () => {
        const got: string[] = [];
        const client = await world.connect(device);
        client.on("message", (_topic, payload) => got.push(payload.toString()));
        const { page } = await web.openIn("/commands");
        await page.getByLabel("Name", { exact: true }).fill(`${device.deviceName} (${device.id})`);
        await page.getByLabel("Payload").fill("open");
        await page.getByRole("button", { name: "Send" }).click();
        await page.getByRole("status").getByText("arrived").waitFor();
        await until(() => got.includes("open"), { what: "the command at the device" });
        await page
          .getByRole("row")
          .filter({ hasText: String(device.deviceName) })
          .first()
          .waitFor();
        assert.match(page.url(), `id=${device.id}`);
        await page.getByLabel("Topic").fill("a/#");
        await page.getByRole("button", { name: "Send" }).click();
        await page.getByRole("alert").filter({ hasText: "topic" }).waitFor();
        assert.is(await page.getByLabel("Payload").inputValue(), "open");
        await client.endAsync();
      });

      test("a command to a group is a task that counts the receipts of its members", async () => {
        const client = await world.connect(device);
        const { page } = await web.openIn(`/commands?to=group&id=${group.id}`);
        await page.getByLabel("Payload").fill("all of you");
        await page.getByRole("button", { name: "Send" }).click();
        await page.getByText("1 acknowledged").waitFor();
        await client.endAsync();
      });

      test("schedules are made: once by the clock of a zone, repeated, by cron; and deleted", async () => {
        const { page } = await web.openIn("/commands?tab=deviceSchedules");
        const dialog = page.getByRole("dialog");
        const names = { once: unique("once"), every: unique("every"), cron: unique("cron") };
        for (const [kind, name] of Object.entries(names)) {
          await page.getByRole("button", { name: "New" }).click();
          await dialog.getByLabel("Schedule").fill(name);
          await dialog.getByLabel("Name").fill(`${device.deviceName} (${device.id})`);
          await dialog.getByLabel("Payload").fill("on");
          await dialog.getByLabel("When").selectOption(kind);
          if (kind === "once") {
            await dialog.getByLabel("At", { exact: true }).fill("2035-01-15T14:30");
            await dialog.getByLabel("Zone").fill("America/New_York");
            // The names of zones have loaded, and the typed text is still there.
            await page.locator("#zones option").first().waitFor({ state: "attached" });
            await dialog.getByLabel("Zone").press("Tab");
          }
          if (kind === "every") await dialog.getByLabel("Minutes", { exact: true }).fill("15");
          if (kind === "cron") await dialog.getByLabel("Cron", { exact: true }).fill("30 6 * * mon-fri");
          await dialog.getByRole("button", { name: "Save" }).click();
          await dialog.waitFor({ state: "detached" });
          await page.getByRole("row").filter({ hasText: name }).waitFor();
        }
        const { page: made } = await world.call("GET", "/api/v1/schedule_publish", undefined, {
          headers: { "Time-Format": "ms" },
        });
        const timing = ({ crontabTime, IntervalMinute, crontab }: Rec) =>
          crontabTime ?? IntervalMinute ?? crontab;
        assert.equal(made.items.map(timing), ["30 6 * * mon-fri", 15, Date.UTC(2035, 0, 15, 19, 30)]);
        await page.getByRole("checkbox", { name: "All on this page" }).check();
        await page.getByRole("button", { name: /^Delete/ }).click();
        await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
        await page.getByText("There is nothing here yet.").waitFor();
      });

      test("a cron expression that is none is refused, and the form keeps what was typed", async () => {
        const { page } = await web.openIn("/commands?tab=groupSchedules");
        await page.getByRole("button", { name: "New" }).click();
        const dialog = page.getByRole("dialog");
        await dialog.getByLabel("Schedule").fill("nightly");
        await dialog.getByLabel("Name").fill(`${group.groupName} (${group.id})`);
        await dialog.getByLabel("Payload").fill("on");
        await dialog.getByLabel("When").selectOption("cron");
        await dialog.getByLabel("Cron", { exact: true }).fill("often");
        await dialog.getByRole("button", { name: "Save" }).click();
        await dialog.getByRole("alert").filter({ hasText: "five fields" }).waitFor();
        assert.is(await dialog.getByLabel("Schedule").inputValue(), "nightly");
      });

      test("a user who may only read sees what was sent, and nothing to send with", async () => {
        const user = { username: unique("viewing"), password: "correct horse battery" };
        await world.make("/api/v1/users", { ...user, role: "viewer" });
        const { page } = await web.openIn("/commands", { user });
        await page.getByRole("table").waitFor();
        assert.is(await page.getByRole("button", { name: "Send" }).count(), 0);
        await page.goto(`${world.http}/console/commands?tab=deviceSchedules`);
        await page.getByText("There is nothing here yet.").waitFor();
        assert.is(await page.getByRole("button", { name: "New" }).count(), 0);
      });
    },
    { API_VARIANT: variant },
  );
}
