/** What belongs together: policies, certificates, members of groups, subscriptions. */
import { certBody, deviceBody, groupBody, policyBody, productBody, unique } from "../factories.js";
import { assert } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";

for (const variant of ["A", "B"]) {
  consoleSuite(
    `console: bindings, variant ${variant}`,
    (test, world, web) => {
      const asA = { headers: { "Api-Variant": "A" } };
      let product: Rec;
      let device: Rec;
      let group: Rec;
      const nameOf = ({ deviceName, id }: Rec) => `${deviceName} (${id})`;
      test.before(async () => {
        product = await world.make("/api/v1/products", productBody(), asA);
        const fields = { deviceName: unique("<img src=x onerror=alert(1)>") };
        device = await world.make("/api/v1/devices", deviceBody(product, fields), asA);
        group = await world.make("/api/v1/groups", groupBody(product), asA);
      });
      const countAt = async (path: string) => (await world.call("GET", `/api/v1${path}`)).page.meta.count;

      for (const [name, body, path] of [
        ["policy", policyBody(), "policies"],
        ["certificate", certBody(), "certs"],
      ] as const) {
        test(`a ${name} is given to a device from its own page, and taken away`, async () => {
          const record = await world.make(`/api/v1/${path}`, body);
          const { page } = await web.openIn(`/${path}/${record.id}`);
          await page.getByLabel("Devices: search by name").fill(nameOf(device));
          await page.getByRole("button", { name: "Add" }).click();
          const row = page.getByRole("row").filter({ hasText: String(device.deviceName) });
          await row.waitFor();
          assert.is(await countAt(`/devices/${device.id}/${path}`), 1);
          await row.getByRole("checkbox").check();
          await page.getByRole("button", { name: "Take away" }).click();
          await page.getByRole("alertdialog").getByRole("button", { name: "Take away" }).click();
          await row.waitFor({ state: "detached" });
          assert.is(await countAt(`/devices/${device.id}/${path}`), 0);
        });
      }

      test("a name that is typed faster than it is drawn is found", async () => {
        const policy = await world.make("/api/v1/policies", policyBody());
        const { page } = await web.openIn(`/policies/${policy.id}`);
        const search = page.getByLabel("Devices: search by name");
        const answered = page.waitForResponse((response) =>
          response.url().includes("deviceName_like=nobody"),
        );
        await search.fill("nobody");
        // What is listed does not have it any more.
        await (await answered).finished();
        await page.locator("datalist option").first().waitFor({ state: "detached" });
        await search.evaluate(async (field, name) => {
          const input = field as unknown as EventTarget & { value: string };
          for (const text of [name.slice(0, 1), name]) {
            input.value = text;
            input.dispatchEvent(new Event("input", { bubbles: true }));
            // Time to draw, which takes microtasks, and none for what comes after that.
            for (let n = 0; n < 20; n++) await Promise.resolve();
          }
        }, nameOf(device));
        await page.getByRole("button", { name: "Add" }).click();
        const given = page.getByRole("row").filter({ hasText: String(device.deviceName) });
        await given.waitFor();
        await given.getByRole("checkbox").check();
        await page.getByRole("button", { name: "Take away" }).click();
        await page.getByRole("alertdialog").getByRole("button", { name: "Take away" }).click();
        await given.waitFor({ state: "detached" });
      });

      test("a device is given a policy and a certificate from its own page", async () => {
        const policy = await world.make("/api/v1/policies", policyBody());
        const cert = await world.make("/api/v1/certs", certBody());
        const { page } = await web.openIn(`/devices/${device.id}?tab=access`);
        await page.getByLabel("Policies: search by name").fill(`${policy.name} (${policy.id})`);
        await page.getByRole("button", { name: "Add" }).first().click();
        await page.getByRole("link", { name: String(policy.name) }).waitFor();
        await page.getByLabel("Certificates: search by name").fill(`${cert.name} (${cert.id})`);
        await page.getByRole("button", { name: "Add" }).last().click();
        await page.getByRole("link", { name: String(cert.name) }).waitFor();
        assert.is(await countAt(`/devices/${device.id}/policies`), 1);
        assert.is(await countAt(`/devices/${device.id}/certs`), 1);
      });

      test("a group has members, who are taken out again, and commands of its own", async () => {
        const { page } = await web.openIn(`/groups/${group.id}`);
        await page.getByLabel("Devices: search by name").fill(nameOf(device));
        await page.getByRole("button", { name: "Add" }).click();
        const row = page.getByRole("row").filter({ hasText: String(device.deviceName) });
        await row.waitFor();
        await page.getByRole("link", { name: "Commands" }).last().click();
        await page.getByLabel("Payload").fill("to all");
        await page.getByRole("button", { name: "Send" }).click();
        await page.getByRole("cell", { name: "to all" }).waitFor();
        await page.getByRole("link", { name: "Devices" }).last().click();
        await row.getByRole("checkbox").check();
        await page.getByRole("button", { name: "Take away" }).click();
        await page.getByRole("alertdialog").getByRole("button", { name: "Take away" }).click();
        await row.waitFor({ state: "detached" });
        assert.is(await countAt(`/groups/${group.id}/devices`), 0);
      });

      test("subscriptions of a device, a group and a product are made and deleted", async () => {
        const { page } = await web.openIn("/");
        for (const of of [`/devices/${device.id}`, `/groups/${group.id}`, `/products/${product.id}`]) {
          await page.goto(`${world.http}/console${of}?tab=subscriptions`);
          await page.getByRole("button", { name: "New" }).click();
          const dialog = page.getByRole("dialog");
          await dialog.getByLabel("Topic *").fill("alarms/#");
          await dialog.getByRole("button", { name: "Save" }).click();
          const row = page.getByRole("row").filter({ hasText: "alarms/#" });
          await row.waitFor();
          assert.is(await countAt(`${of}/subscriptions`), 1, of);
          assert.is(await row.getByRole("button", { name: "Edit" }).count(), 0);
          await row.getByRole("checkbox").check();
          await page.getByRole("button", { name: /^Delete/ }).click();
          await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
          await row.waitFor({ state: "detached" });
        }
      });

      test("a contact point is tested, and shows what it would receive, on a phone too", async () => {
        const settings = { url: "http://127.0.0.1:9/" };
        const point = await world.make("/api/v1/contact_points", { type: "webhook", name: "Duty", settings });
        const viewport = { width: 360, height: 740 };
        const { page } = await web.openIn(`/contact-points/${point.id}`, { viewport });
        await page.getByRole("button", { name: "Preview a message" }).click();
        await page.locator("pre").filter({ hasText: '"status":"firing"' }).waitFor();
        await page.getByRole("button", { name: "Send a test" }).click();
        await page.getByRole("status").getByText("not delivered").waitFor();
        assert.is(await page.evaluate("document.documentElement.scrollWidth > innerWidth"), false);
      });

      test("a user who may only read sees members, and nothing to change them with", async () => {
        const user = { username: unique("viewing"), password: "correct horse battery" };
        await world.make("/api/v1/users", { ...user, role: "viewer" });
        await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [device.id] });
        const { page } = await web.openIn(`/groups/${group.id}`, { user });
        await page
          .getByRole("row")
          .filter({ hasText: String(device.deviceName) })
          .waitFor();
        assert.is(await page.getByRole("button", { name: "Add" }).count(), 0);
        assert.is(await page.getByRole("checkbox").count(), 0);
      });
    },
    { API_VARIANT: variant },
  );
}
