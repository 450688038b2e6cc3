/** Lists and forms of every resource, in a real browser. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createFormBody } from "../../src/console/app/resources/form-values.js";
import { resources } from "../../src/console/app/resources/resources.js";
import { namedFields } from "../../src/console/app/texts/fields.js";
import { texts } from "../../src/console/app/texts/texts.js";
import { formsOf } from "../../src/console/forms.js";
import { unique } from "../factories.js";
import { repositoryRoot } from "../repository.js";
import { assert, suite, until } from "../suite.js";
import { consoleSuite } from "./browser.js";

const forms = formsOf(JSON.parse(readFileSync(join(repositoryRoot(), "dist/openapi.json"), "utf8")));

suite("console: forms and texts", (test) => {
  test("every field of every form has a name in both languages", () => {
    const fields = Object.values(forms).flatMap(({ create, edit }) => [...create, ...edit]);
    assert.ok(fields.length > 200, `${fields.length}`);
    assert.equal(
      [...new Set(fields.map(({ name }) => name))].filter((name) => !namedFields.has(name)),
      [],
    );
  });

  test("every column of every list has a name in both languages", () => {
    const columns = Object.values(resources).flatMap(({ columns }): readonly string[] => columns);
    assert.ok(columns.length > 80, `${columns.length}`);
    assert.equal(
      columns.filter((name) => !namedFields.has(name)),
      [],
    );
  });

  test("every text is there in both languages, with the same values in it", () => {
    const valuesIn = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([value]) => value).sort();
    for (const [key, [en, zh]] of Object.entries(texts)) {
      assert.ok(en.length > 0 && zh.length > 0, key);
      assert.equal(valuesIn(zh), valuesIn(en), key);
    }
  });

  test("no two files of texts have a key in common, and none is without a user", () => {
    const folder = join(repositoryRoot(), "src/console/app");
    const read = (name: string) => readFileSync(join(folder, name), "utf8");
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.tsx?$/.test(name),
    );
    const isOfTexts = (name: string) => name.startsWith("texts/");
    const keys = names
      .filter(isOfTexts)
      .flatMap((name) => [...read(name).matchAll(/^ {2}"([^"]+)": \[/gm)].map(([, key = ""]) => key));
    assert.ok(keys.length >= Object.keys(texts).length);
    assert.equal(
      keys.filter((key, i) => keys.indexOf(key) !== i),
      [],
    );
    const code = names
      .filter((name) => !isOfTexts(name))
      .map(read)
      .join();
    const made = [...code.matchAll(/`([a-z]+)\.\$\{/g)].map(([, prefix]) => `${prefix}.`);
    assert.equal(
      keys.filter((key) => !code.includes(`"${key}"`) && !made.some((prefix) => key.startsWith(prefix))),
      [],
    );
  });

  test("a form asks for what the API needs first, and of an edit for nothing that is fixed", () => {
    const { create = [], edit = [] } = forms.Device ?? {};
    assert.equal(
      create.filter(({ isRequired }) => isRequired).map(({ name }) => name),
      ["deviceName", "deviceType", "productID", "deviceID", "cloudProtocol"],
    );
    const edited = edit.map(({ name }) => name);
    assert.ok(edited.includes("deviceName") && !edited.includes("deviceID") && !edited.includes("productID"));
    assert.equal(create.find(({ name }) => name === "deviceType")?.choices, [1, 3]);
  });

  test("a body holds what has a value; of an edit what has changed, and null for what was emptied", () => {
    const fields = [
      { name: "a", kind: "text" },
      { name: "b", kind: "choice" },
      { name: "c", kind: "json" },
      { name: "d", kind: "choices" },
      { name: "e", kind: "number" },
    ];
    assert.equal(createFormBody(fields, { a: "x", b: "2", c: '{"k":[1]}', d: "1,3", e: "" }, null), {
      body: { a: "x", b: 2, c: { k: [1] }, d: [1, 3] },
    });
    const known = { a: "x", b: 2, c: { k: [1] }, d: [1, 3], e: 4.5 };
    assert.equal(createFormBody(fields, { a: "x", b: "2", c: '{"k":[1]}', d: "1,3", e: "" }, known), {
      body: { e: null },
    });
    assert.equal(createFormBody(fields, { c: "{" }, null), { unreadable: ["c"] });
  });
});

consoleSuite("console: resources", (test, world, web) => {
  test("a product is made, edited and deleted; what the service says of a field stands beside it", async () => {
    const { page } = await web.openIn("/products");
    const name = unique("Greenhouse <b>&amp;");
    await page.getByRole("button", { name: "New" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").first().waitFor();
    await dialog.getByLabel("Product *").fill(name);
    await dialog.getByLabel("Protocol *").selectOption("1");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const row = page.getByRole("row").filter({ hasText: name });
    await row.getByRole("button", { name: "Edit" }).click();
    await dialog.getByLabel("Description").fill("tomatoes");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
    const { page: found } = await world.call(
      "GET",
      `/api/v1/products?productName=${encodeURIComponent(name)}`,
    );
    assert.is(found.items[0]?.description, "tomatoes");
    await row.getByRole("checkbox").check();
    await page.getByRole("button", { name: /^Delete/ }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
    await row.waitFor({ state: "detached" });
  });

  test("a data point of a product, with the type by its word; a name that is taken is refused in place", async () => {
    const product = await world.make("/api/v1/products", { productName: unique("P"), cloudProtocol: 1 });
    const { page } = await web.openIn(`/products/${product.id}`);
    const dialog = page.getByRole("dialog");
    for (const attempt of [1, 2]) {
      await page.getByRole("button", { name: "New" }).click();
      await dialog.getByLabel("Data point *").fill("Temperature");
      await dialog.getByLabel("Type *").selectOption({ index: 1 });
      await dialog.getByLabel("Direction *").selectOption({ index: 1 });
      await dialog.getByLabel("Key in messages *").fill("temp");
      await dialog.getByRole("button", { name: "Save" }).click();
      if (attempt === 1) await dialog.waitFor({ state: "detached" });
    }
    await dialog.getByRole("alert").first().waitFor();
    assert.is(await dialog.getByLabel("Key in messages *").inputValue(), "temp");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.is(await page.getByRole("row").filter({ hasText: "Temperature" }).count(), 1);
  });

  test("an API key's secret is shown once; a user who may only read sees no way to change anything", async () => {
    const { page } = await web.openIn("/access?tab=apiKeys");
    await page.getByRole("button", { name: "New" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("reader");
    await dialog.getByLabel("Role").selectOption("viewer");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("This is shown once").waitFor();
    const key = (await dialog.locator("pre").innerText()).trim();
    assert.is((await world.call("GET", "/api/v1/me", undefined, { key })).record.role, "viewer");

    const user = { username: unique("viewing"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    const viewer = await web.openIn("/products", { user });
    await viewer.page.getByRole("table").or(viewer.page.getByText("There is nothing")).waitFor();
    assert.is(await viewer.page.getByRole("button", { name: /New|Edit|Delete/ }).count(), 0);
    await viewer.page.goto(`${world.http}/console/access`);
    await viewer.page.getByRole("link", { name: "Policies" }).waitFor();
    assert.is(await viewer.page.getByRole("link", { name: "Users" }).count(), 0);
  });

  test("a list is searched and paged by the address, and comes back as it was", async () => {
    const prefix = unique("many");
    await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        world.make("/api/v1/products", { productName: `${prefix}-${i}`, cloudProtocol: 1 }),
      ),
    );
    const { page } = await web.openIn(`/products?q=${prefix}&page=3`);
    await page.getByText("Page 3 of 3, 60 in all").waitFor();
    assert.is(await page.getByRole("row").count(), 11);
    await page
      .getByRole("link", { name: `${prefix}-` })
      .first()
      .click();
    await page.getByRole("heading", { name: prefix }).waitFor();
    await page.goBack();
    await page.getByText("Page 3 of 3, 60 in all").waitFor();
    await page.getByRole("searchbox").fill(`${prefix}-59`);
    await until(async () => (await page.getByRole("row").count()) === 2, { what: "the one that matches" });
  });

  test("in Chinese nothing is left in English, and the choice stays", async () => {
    const { page } = await web.openIn("/products");
    await page.getByLabel("Language").selectOption("zh");
    await page.getByRole("heading", { name: "产品" }).waitFor();
    await page.reload();
    await page.getByRole("button", { name: "新建" }).click();
    const labels = await page.getByRole("dialog").locator("h2, label, button").allInnerTexts();
    assert.ok(labels.length >= 5, `${labels}`);
    assert.equal(
      labels.filter((label) => /[a-z]{3,}/i.test(label)),
      [],
    );
  });
});
