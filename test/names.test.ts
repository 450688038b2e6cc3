/** Names that files give one another: what is exported has a user elsewhere. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { repositoryRoot } from "./repository.js";
import { assert, suite } from "./suite.js";

const root = repositoryRoot();
const folders = ["src", "ingest", "query", "store", "bench", "test"];
const texts = new Map(
  folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) =>
        join(folder, path),
      ),
    )
    .filter((path) => /\.(tsx?|mjs)$/.test(path))
    .map((path) => [path, readFileSync(join(root, path), "utf8")]),
);

/** By file: the names that others take from it, and the texts of those that take all of it. */
function usesOf(): Map<string, { readonly names: Set<string>; readonly wholes: string[] }> {
  const uses = new Map(
    [...texts.keys()].map((path) => [path, { names: new Set<string>(), wholes: [] as string[] }]),
  );
  const imports =
    /^(?:import|export)\s(?<what>[^"';]*?)\sfrom\s"(?<from>\.[^"]*)"|import\(\s*"(?<later>\.[^"]*)"/gm;
  for (const [path, text] of texts) {
    for (const { groups = {} } of text.matchAll(imports)) {
      const from = groups.from ?? groups.later ?? "";
      const source = normalize(join(dirname(path), from)).replace(/\.js$/, ".ts");
      const use = uses.get(source) ?? uses.get(`${source}x`);
      const list = /\{([^}]*)\}/.exec(groups.what ?? "")?.[1];
      if (list === undefined) use?.wholes.push(text);
      for (const one of list?.split(",") ?? [])
        use?.names.add(
          one
            .trim()
            .replace(/^type\s+/, "")
            .split(" ")[0] ?? "",
        );
    }
  }
  return uses;
}

suite("names", (test) => {
  test("what is exported is used by another file", () => {
    const uses = usesOf();
    const exported =
      /^export (?:async |abstract )*(?:const|let|function\*?|class|interface|type|enum) (\w+)(?![\w$])/gm;
    let found = 0;
    const unused = [...texts].flatMap(([path, text]) =>
      [...text.matchAll(exported)].flatMap(([, name = ""]) => {
        found++;
        const { names = new Set(), wholes = [] } = uses.get(path) ?? {};
        const isUsed = names.has(name) || wholes.some((whole) => whole.split(/[^\w$]+/).includes(name));
        return isUsed ? [] : [`${path}: ${name}`];
      }),
    );
    assert.ok(found > 1000, `only ${found}`);
    assert.equal(unused, [], "take the export away");
  });
});
