import { documentBody, layout } from "../dashboards/documents.js";
import { unique } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, refused, worldSuite } from "../world.js";

const path = "/api/v1/dashboards";
const listed = ["id", "name", "description", "version", "createUser", "updateUser", "createAt", "updateAt"];
const note = (markdown: string) => documentBody([{ id: "n", type: "text", title: "", layout, markdown }]);
const body = (fields: object = {}) => ({ name: unique("Board"), document: note("1"), ...fields });

worldSuite("dashboards", (test, world) => {
  const make = (fields: object = {}): Promise<Rec> => world.make(path, body(fields));
  const edit = (one: Rec, fields: object, options: object = {}) =>
    world.call("PUT", `${path}/${one.id}`, fields, options);
  const versions = async (one: Rec): Promise<unknown[]> => {
    const { page } = await world.call("GET", `${path}/${one.id}/revisions?_limit=100`);
    return page.items.map(({ version }) => version);
  };

  test("is made, listed without its document, read with it, and deleted with its versions", async () => {
    const name = `"; drop table dashboard; -- \\ 🚜 ${unique("x")}`;
    const made = await make({ name, description: "d", document: note("\u0000 'quoted' \u2028 🚜") });
    hasKeys(made, [...listed, "document"]);
    assert.equal(
      [made.name, made.version, made.createUser, made.updateUser, made.updateAt],
      [name, 1, "admin", null, null],
    );
    assert.equal(made.document, note("\u0000 'quoted' \u2028 🚜"));
    const one = await world.call("GET", `${path}/${made.id}`);
    assert.equal(one.record, made);
    const found = await world.call("GET", `${path}?name=${encodeURIComponent(name)}`);
    const { document: _, ...rest } = made;
    assert.equal(found.page.items, [rest as Rec]);
    assert.is((await world.call("GET", `${path}?name_like=DROP%20TABLE`)).page.meta.count, 1);
    assert.is((await world.call("DELETE", `${path}?ids=${made.id}`)).status, 204);
    refused(await world.call("GET", `${path}/${made.id}`), "DATA_NOT_FOUND");
    refused(await world.call("GET", `${path}/${made.id}/revisions`), "DATA_NOT_FOUND");
    refused(await world.call("GET", `${path}/${made.id}/revisions/1`), "DATA_NOT_FOUND");
  });

  test("an edit names the version that it was made from; another one answers 409 and changes nothing", async () => {
    const made = await make({ description: "kept" });
    const second = await edit(made, { version: 1, document: note("2") });
    assert.is(second.status, 200, second.text);
    assert.equal(
      [second.record.version, second.record.updateUser, second.record.description],
      [2, "admin", "kept"],
    );
    const late = await edit(made, { version: 1, name: "late" });
    refused(late, "VERSION_CONFLICT", "version");
    assert.is(late.failure.errors.version, "is 2");
    refused(await edit(made, { version: 3, name: "early" }), "VERSION_CONFLICT", "version");
    refused(await edit(made, { name: "none" }), "PARAMETER_INVALID", "version");
    assert.equal((await world.call("GET", `${path}/${made.id}`)).record, second.record);
    const renamed = await edit(made, { version: "2", name: unique("N"), description: null });
    assert.equal([renamed.record.version, renamed.record.description], [3, null]);
    assert.equal(renamed.record.document, note("2"));
    refused(await edit(made, { version: 3, document: null }), "PARAMETER_INVALID", "document");
    refused(await edit(made, { version: 3, name: null }), "PARAMETER_INVALID", "name");
    assert.equal(await versions(made), [3, 2, 1]);
  });

  test("one of several simultaneous edits is made, and the others are refused", async () => {
    const made = await make();
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) => edit(made, { version: 1, document: note(`n${i}`) })),
    );
    assert.equal(replies.map(({ status }) => status).sort(), [200, ...Array.from({ length: 9 }, () => 409)]);
    assert.equal(await versions(made), [2, 1]);
    const winner = replies.find(({ status }) => status === 200);
    assert.equal((await world.call("GET", `${path}/${made.id}`)).record, winner?.record);
  });

  test("twenty versions are kept, each with its document and its maker", async () => {
    const made = await make();
    const operator = await world.keyOf("operator");
    for (let version = 1; version <= 21; version++) {
      const reply = await edit(made, { version, document: note(`${version + 1}`) }, { key: operator });
      assert.is(reply.status, 200, reply.text);
    }
    assert.equal(
      await versions(made),
      Array.from({ length: 20 }, (_, i) => 22 - i),
    );
    const url = `${path}/${made.id}/revisions`;
    const third = await world.call("GET", `${url}/3`);
    hasKeys(third.record, ["version", "createUser", "createAt", "document"]);
    assert.equal(third.record.document, note("3"));
    hasKeys((await world.call("GET", `${url}?version=5`)).page.items[0], [
      "version",
      "createUser",
      "createAt",
    ]);
    refused(await world.call("GET", `${url}/2`), "DATA_NOT_FOUND");
    refused(await world.call("GET", `${url}/23`), "DATA_NOT_FOUND");
    for (const wrong of ["0", "x", "1.5", "-1"]) {
      refused(await world.call("GET", `${url}/${wrong}`), "PARAMETER_INVALID", "version");
    }
  });

  test("a name is taken once in a tenant; another tenant has its own and sees none of these", async () => {
    const made = await make();
    const other = await make();
    refused(await world.call("POST", path, body({ name: made.name })), "DATA_EXISTED", "name");
    refused(await edit(other, { version: 1, name: made.name }), "DATA_EXISTED", "name");
    const key = await world.otherTenant();
    const theirs = await world.make(path, body({ name: made.name }), { key });
    refused(await edit(made, { version: 1, name: "mine" }, { key }), "DATA_NOT_FOUND");
    for (const url of [
      `${path}/${made.id}`,
      `${path}/${made.id}/revisions`,
      `${path}/${made.id}/revisions/1`,
    ]) {
      refused(await world.call("GET", url, undefined, { key }), "DATA_NOT_FOUND");
    }
    refused(
      await world.call("DELETE", `${path}?ids=${theirs.id},${made.id}`, undefined, { key }),
      "DATA_NOT_FOUND",
    );
    const seen = await world.call("GET", path, undefined, { key });
    assert.equal(
      seen.page.items.map(({ id }) => id),
      [theirs.id],
    );
  });

  test("a viewer reads and does not write", async () => {
    const made = await make();
    const key = await world.keyOf("viewer");
    assert.is((await world.call("GET", `${path}/${made.id}`, undefined, { key })).status, 200);
    refused(await world.call("POST", path, body(), { key }), "PERMISSION_DENIED");
    refused(await edit(made, { version: 1 }, { key }), "PERMISSION_DENIED");
    refused(await world.call("DELETE", `${path}?ids=${made.id}`, undefined, { key }), "PERMISSION_DENIED");
  });

  test("a wrong document is refused by the path of its field, and stores nothing", async () => {
    const panel = { id: "n", type: "text", title: "", layout, markdown: "", colour: 1 };
    const name = unique("Wrong");
    const reply = await world.call("POST", path, { name, document: documentBody([panel]) });
    refused(reply, "PARAMETER_INVALID", "document.panels.0.colour");
    refused(await world.call("POST", path, { name }), "PARAMETER_INVALID", "document");
    const big = documentBody(
      Array.from({ length: 14 }, (_, i) => ({ ...panel, id: `p${i}`, markdown: "x".repeat(19_999) })),
    );
    refused(await world.call("POST", path, { name, document: big }), "PARAMETER_INVALID", "document");
    const half = await world.call("POST", path, `{"name":"x","document":{"timezone":"\\ud800"}}`);
    refused(half, "PARAMETER_INVALID", "document");
    assert.is((await world.call("GET", `${path}?name=${name}`)).page.meta.count, 0);
  });

  test("an edit is in the log of changes, without its document", async () => {
    const made = await make();
    await edit(made, { version: 1, document: note("private"), description: "told" });
    const { page } = await world.call("GET", `/api/v1/changes?entity=dashboard&recordID=${made.id}`);
    assert.equal(
      page.items.map(({ action }) => action),
      ["update", "create"],
    );
    assert.ok(JSON.stringify(page.items).includes("told"));
    assert.not.ok(JSON.stringify(page.items).includes("private"));
  });
});
