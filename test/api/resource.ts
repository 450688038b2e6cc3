/** What holds for every resource of the interface: forms, pages, edits, deletes, refusals, roles. */
import fc from "fast-check";
import { assert, type Test } from "../suite.js";
import { hasKeys, type Rec, type Reply, refused, stampPattern, type World } from "../world.js";

export type Body = Readonly<Record<string, unknown>>;

interface Resource {
  readonly path: string;
  /** A create body that is taken; unlike any before. */
  body(): Promise<Body>;
  /** Fields without which a create is refused. */
  readonly required: readonly string[];
  /** Field → value that a create and an edit take, and that null clears. */
  readonly optional: Body;
  /** Fields that an edit may not change, each with a value that no record has. */
  readonly fixed: Body;
  /** What `optional` needs beside it, so that a null in any of its fields is taken. */
  readonly optionalBase?: Body;
  /** The name that `_like` searches and that an edit changes. */
  readonly name: string;
  /** The field that must be unique, where it is not the name; null where none must. */
  readonly unique?: string | null;
  readonly keys: {
    readonly stored: readonly string[];
    readonly detail: readonly string[];
    readonly listed: readonly string[];
  };
}

const badTexts = [
  "",
  " ",
  "\u0000",
  "\ud800",
  "x".repeat(10_240),
  "🦉".repeat(300),
  "'; drop table product; --",
  `" or 1=1 /*`,
  "%00",
  "../../etc/passwd",
  "{{7*7}}",
  "时间",
];
const badNumbers = [0, -1, 1.5, 2 ** 53, 2 ** 63, -(2 ** 53), 1e308, "NaN", "1e999", "0x10"];
const badShapes: unknown[] = [null, true, [], {}, [[]], { toString: 1, valueOf: 1 }, { value: {} }, ["a", 1]];
/** Deeper than any walk over it by recursion can go. */
export const deepJson = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

/** What may be sent in place of any field. */
export const badValues: readonly unknown[] = [...badTexts, ...badNumbers, ...badShapes];
/** The same schemas read an edit: the shapes, and one text of each trouble. */
const badEdits: readonly unknown[] = [...badShapes, "\u0000\ud800'; --", "x".repeat(10_240), -1, 2 ** 53];

/** Ids that name no record. */
export const unknownIDs = [
  "0",
  "-1",
  "01",
  "1.5",
  "9007199254740991",
  "9007199254740992",
  "99999999999999999999",
  "no-such-record",
  "1 or 1=1",
  "';--",
  "🦉",
  "设备",
  "%00",
  "x".repeat(10_240),
].map((id) => (id === "%00" ? id : encodeURIComponent(id)));

export function testResource(test: Test, world: World, resource: Resource): void {
  const { path, name } = resource;
  const create = async (fields: Body = {}): Promise<Rec> =>
    world.make(path, { ...(await resource.body()), ...fields });
  const post = async (fields: Body): Promise<Reply> =>
    world.call("POST", path, { ...(await resource.body()), ...fields });

  testForms(test, world, resource, create);
  testLists(test, world, resource, create);
  testEdits(test, world, resource, create);
  testDeletes(test, world, resource, create);
  testCallers(test, world, resource, create);

  test("a create without a required field, or with null, an empty text or a wrong type, is refused by name", async () => {
    for (const field of resource.required) {
      refused(await post({ [field]: undefined }), "PARAMETER_INVALID", field);
      for (const value of [null, "", true, [], {}]) {
        refused(await post({ [field]: value }), "PARAMETER_INVALID", field);
      }
    }
    const { failure } = await world.call("POST", path, {});
    assert.ok(Object.keys(failure.errors).length > 0, "every missing field is named at once");
  });

  test("exactly one of parallel creates of one name wins", async () => {
    if (resource.unique === null) return;
    const field = resource.unique ?? name;
    const taken = (await resource.body())[field];
    const replies = await Promise.all(Array.from({ length: 8 }, () => post({ [field]: taken })));
    assert.is(replies.filter((reply) => reply.status === 201).length, 1);
    for (const reply of replies) if (reply.status !== 201) refused(reply, "DATA_EXISTED", field);
  });

  test("no value of any field makes a create fail inside", async () => {
    const fields = Object.keys({ ...(await resource.body()), ...resource.optional });
    for (const field of fields) {
      await Promise.all(
        badValues.map(async (value) => isTakenOrRefused(await post({ [field]: value }), field)),
      );
    }
  });

  test("no value of any field makes an edit fail inside", async () => {
    const record = await create();
    const fields = Object.keys({ ...record, ...resource.optional });
    for (const field of fields) {
      await Promise.all(
        badEdits.map(async (value) =>
          isTakenOrRefused(await world.call("PUT", `${path}/${record.id}`, { [field]: value }), field),
        ),
      );
    }
  });

  test("JSON nested 20,000 deep in a field is answered", async () => {
    const record = await create();
    for (const field of Object.keys({ [name]: 0, ...resource.fixed, ...resource.optional })) {
      const text = `{"${field}":${deepJson}}`;
      isTakenOrRefused(await world.call("PUT", `${path}/${record.id}`, text), field);
      isTakenOrRefused(await world.call("POST", path, text), field);
    }
  });

  test("whatever JSON stands in its fields, a create is taken or refused", async () => {
    const fields = [...Object.keys({ ...(await resource.body()), ...resource.optional }), "__proto__", "id"];
    const values = fc.oneof(fc.jsonValue(), fc.constantFrom(...badValues));
    const changes = fc.dictionary(fc.constantFrom(...fields), values, { maxKeys: 3 });
    await fc.assert(
      fc.asyncProperty(changes, async (change) => isTakenOrRefused(await post(change), "some")),
      { numRuns: 100 },
    );
  });
}

function isTakenOrRefused(reply: Reply, field: string): void {
  const told = `${field}: ${reply.status} ${reply.text.slice(0, 300)}`;
  assert.ok([200, 201, 400].includes(reply.status), told);
  if (reply.status === 400) assert.ok(reply.failure.errorCode, told);
}

type Create = (fields?: Body) => Promise<Rec>;

function testForms(
  test: Test,
  world: World,
  { path, keys, optional, optionalBase }: Resource,
  create: Create,
): void {
  test("create answers the stored form", async () => {
    const record = await create();
    hasKeys(record, keys.stored);
    assert.match(String(record.createAt), stampPattern);
    assert.is(record.updateAt, null);
    assert.ok(Number.isInteger(record.id));
    const filled = await create({ ...optionalBase, ...optional });
    for (const [field, value] of Object.entries(optional)) assert.equal(filled[field], value, field);
  });

  test("detail and list have their own forms, with labels and without holes", async () => {
    const record = await create();
    const detail = (await world.call("GET", `${path}/${record.id}`)).record;
    hasKeys(detail, keys.detail);
    for (const field of keys.stored) assert.equal(detail[field], record[field], field);
    const { page } = await world.call("GET", path);
    hasKeys(page.items[0], keys.listed);
    for (const field of keys.listed)
      assert.equal(page.items[0]?.[field], detail[field] ?? page.items[0]?.[field]);
    for (const [field, value] of Object.entries(detail)) {
      if (!field.endsWith("Label")) continue;
      const code = detail[field.slice(0, -"Label".length)];
      assert.is(typeof value, code === null ? "object" : "string", field);
    }
  });
}

function testLists(test: Test, world: World, { path, name }: Resource, create: Create): void {
  const list = (query: string) => world.call("GET", `${path}?${query}`);

  test("lists are pages, newest first", async () => {
    const made = [];
    for (const letter of "abcde") made.push((await create({ [name]: `Paged ${letter}` })).id);
    const newest = made.reverse();
    const { page } = await list(`${name}_like=paged&_limit=2&_page=2`);
    assert.equal(page.meta, { count: 5, limit: 2, page: 2 });
    assert.equal(
      page.items.map((item) => item.id),
      newest.slice(2, 4),
    );
    const beyond = (await list(`${name}_like=paged&_page=9`)).page;
    assert.equal([beyond.items, beyond.meta], [[], { count: 5, limit: 10, page: 9 }]);
    assert.is((await list("_limit=1000")).status, 200);
  });

  test("a page or limit that is none is refused by name", async () => {
    for (const value of ["0", "-1", "x", "1.5", "1e3", "99999999999999999999", "%F0%9F%A6%89"]) {
      refused(await list(`_page=${value}`), "PARAMETER_INVALID", "_page");
      refused(await list(`_limit=${value}`), "PARAMETER_INVALID", "_limit");
    }
    refused(await list("_limit=1001"), "PARAMETER_INVALID", "_limit");
    assert.is((await list("_page=&_limit=")).page.meta.limit, 10);
  });

  test("filters: _like is a substring in any case with % and _ as they are, the bare name is equality", async () => {
    const wanted = `Q_uick 100% 温度 ${name}`;
    const { id } = await create({ [name]: wanted });
    await create({ [name]: `Qxuick 100x 温度 ${name}` });
    const found = async (query: string) => (await list(query)).page.items.map((item) => item.id);
    for (const part of ["q_UICK 100%", "_", "%", "温度", "\\", "Q_uick", "100%25"]) {
      const ids = await found(`${name}_like=${encodeURIComponent(part)}`);
      const hit = wanted.toLowerCase().includes(part.toLowerCase());
      assert.is(ids.includes(id), hit, part);
      if (part === "q_UICK 100%") assert.equal(ids, [id]);
    }
    assert.equal(await found(`${name}=${encodeURIComponent(wanted)}`), [id]);
    assert.equal(await found(`${name}=${encodeURIComponent(wanted.toLowerCase())}`), []);
    assert.equal(
      (await list(`id=${id}`)).page.items.map((item) => item.id),
      [id],
    );
    assert.is((await list(`id=${id}&${name}=none`)).page.meta.count, 0);
    refused(await list("id=x"), "PARAMETER_INVALID", "id");
    const all = (await list("")).page.meta.count;
    assert.is((await list(`${name}_like=&${name}=&unknown=1&createAt_like=9`)).page.meta.count, all);
    for (const text of [
      "%00",
      "'--",
      "%F0%9F%A6%89",
      "%E0%A4%A",
      "%25".repeat(256),
      "%F0%9F%A6%89".repeat(256),
    ]) {
      assert.is((await list(`${name}_like=${text}`)).status, 200, text.slice(0, 20));
    }
    for (const text of ["%25".repeat(257), "x".repeat(60_000)])
      refused(await list(`${name}_like=${text}`), "PARAMETER_INVALID", `${name}_like`);
  });
}

function testEdits(test: Test, world: World, resource: Resource, create: Create): void {
  const { path, name, fixed, required } = resource;
  const optional = { ...resource.optionalBase, ...resource.optional };
  const put = (record: Rec, body: unknown) => world.call("PUT", `${path}/${record.id}`, body);

  test("the record as read may be sent back: only updateAt moves", async () => {
    const record = await create(optional);
    const detail = (await world.call("GET", `${path}/${record.id}`)).record;
    const edited = await put(record, detail);
    assert.is(edited.status, 200, edited.text);
    hasKeys(edited.record, resource.keys.stored);
    assert.match(String(edited.record.updateAt), stampPattern);
    assert.equal({ ...edited.record, updateAt: null }, record);
    const again = (await world.call("GET", `${path}/${record.id}`)).record;
    assert.equal({ ...again, updateAt: null }, detail);
  });

  test("an absent field keeps its value, null clears it, and is refused where it is required", async () => {
    const record = await create(optional);
    const renamed = (await put(record, { [name]: `Renamed ${record.id}` })).record;
    assert.equal({ ...renamed, updateAt: null }, { ...record, [name]: `Renamed ${record.id}` });
    for (const field of Object.keys(resource.optional)) {
      const cleared = await put(record, { [field]: null });
      assert.is(cleared.status, 200, `${field}: ${cleared.text}`);
      assert.is(cleared.record[field], null, field);
    }
    for (const field of required.filter((one) => one in fixed === false)) {
      refused(await put(record, { [field]: null }), "PARAMETER_INVALID", field);
    }
  });

  test("fixed fields may be equal, and are refused when they differ", async () => {
    const record = await create();
    const detail = (await world.call("GET", `${path}/${record.id}`)).record;
    for (const [field, other] of Object.entries(fixed)) {
      if (field in detail) assert.is((await put(record, { [field]: detail[field] })).status, 200, field);
      refused(await put(record, { [field]: other }), "PARAMETER_INVALID", field);
      if (field in detail) refused(await put(record, { [field]: null }), "PARAMETER_INVALID", field);
    }
  });

  test("a rename to a name that is taken is refused, to its own it is not", async () => {
    if (resource.unique !== undefined) return;
    const [one, other] = [await create(), await create()];
    refused(await put(one, { [name]: other[name] }), "DATA_EXISTED", name);
    assert.is((await put(one, { [name]: one[name] })).status, 200);
  });

  test("an edit of what there is not is 404", async () => {
    for (const id of unknownIDs) refused(await world.call("PUT", `${path}/${id}`, {}), "DATA_NOT_FOUND");
  });
}

function testDeletes(test: Test, world: World, { path, name }: Resource, create: Create): void {
  const remove = (ids: string) => world.call("DELETE", `${path}?ids=${ids}`);
  const exists = async ({ id }: Rec) => (await world.call("GET", `${path}/${id}`)).status === 200;

  test("delete takes one id or several, repeated ones once", async () => {
    const [a, b, c] = [await create(), await create(), await create()];
    const gone = await remove(`${a.id}`);
    assert.equal([gone.status, gone.text], [204, ""]);
    assert.is((await remove(`${b.id},%20${c.id},${b.id}`)).status, 204);
    assert.equal([await exists(a), await exists(b), await exists(c)], [false, false, false]);
    refused(await remove(`${a.id}`), "DATA_NOT_FOUND");
    assert.ok((await create({ [name]: a[name] })).id > c.id, "record ids are not used again");
  });

  test("delete is all or nothing", async () => {
    const record = await create();
    for (const id of unknownIDs) refused(await remove(`${record.id},${id}`), "DATA_NOT_FOUND");
    assert.ok(await exists(record));
  });

  test("ids must be there, at most a thousand", async () => {
    for (const ids of ["", ",", "1,", "1,,2"]) refused(await remove(ids), "PARAMETER_INVALID", "ids");
    refused(await world.call("DELETE", path), "PARAMETER_INVALID", "ids");
    const many = (length: number) => Array.from({ length }, (_, i) => 10_000_000 + i).join(",");
    refused(await remove(many(1001)), "PARAMETER_INVALID", "ids");
    refused(await remove(many(1000)), "DATA_NOT_FOUND");
  });

  test("an id that names nothing is 404", async () => {
    for (const id of unknownIDs) refused(await world.call("GET", `${path}/${id}`), "DATA_NOT_FOUND");
  });
}

function testCallers(test: Test, world: World, { path, body }: Resource, create: Create): void {
  test("a record of another tenant is not there", async () => {
    const record = await create();
    const key = await world.otherTenant();
    refused(await world.call("GET", `${path}/${record.id}`, undefined, { key }), "DATA_NOT_FOUND");
    refused(await world.call("PUT", `${path}/${record.id}`, {}, { key }), "DATA_NOT_FOUND");
    refused(await world.call("DELETE", `${path}?ids=${record.id}`, undefined, { key }), "DATA_NOT_FOUND");
    assert.is((await world.call("GET", path, undefined, { key })).page.meta.count, 0);
    assert.is((await world.call("GET", `${path}/${record.id}`)).status, 200);
  });

  test("a viewer reads, an operator writes, nobody does neither", async () => {
    const record = await create();
    const [viewer, operator] = [await world.keyOf("viewer"), await world.keyOf("operator")];
    const calls = [
      ["GET", path, undefined],
      ["GET", `${path}/${record.id}`, undefined],
      ["POST", path, await body()],
      ["PUT", `${path}/${record.id}`, {}],
      ["DELETE", `${path}?ids=${record.id}`, undefined],
    ] as const;
    for (const [method, url, sent] of calls) {
      refused(await world.call(method, url, sent, { key: null }), "AUTH_FAILED", "token");
      const seen = await world.call(method, url, sent, { key: viewer });
      if (method === "GET") assert.is(seen.status, 200);
      else refused(seen, "PERMISSION_DENIED");
    }
    for (const [method, url, sent] of calls) {
      assert.ok((await world.call(method, url, sent, { key: operator })).status < 300, `${method} ${url}`);
    }
  });
}
