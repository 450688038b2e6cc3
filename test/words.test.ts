/** Comments and documents use the words of the field: a reader must not learn ours first. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./repository.js";
import { assert, suite } from "./suite.js";

const root = repositoryRoot();
const self = "test/words.test.ts";

/** Pattern of whole words, and what the field says instead. */
const banned: readonly (readonly [string, string])[] = [
  ["(?:set|sets|setting|put|puts|putting) aside|asides?", "dead letter, quarantine"],
  ["tells?|told|telling|tellers?", "publish, notify, report, receive"],
  ["keepers?", "owner"],
  ["payers?", "fairness key"],
  ["proves?|proved|proven|proving", "authenticate, verify"],
  ["narrow|narrows|narrowed|narrowing", "isolate, filter"],
  ["breathes?|breathers?|breathing", "yield"],
  ["menders?|mending", "repair"],
  ["patiently", "with retries"],
  ["whoever|whomever", "a client that, a caller that"],
  ["rooms?", "budget, capacity, folder"],
  ["lets? go|letting go", "release"],
  ["holds? back|held back", "suspend, defer"],
];
const rules = banned.map(([words, instead]) => [new RegExp(`\\b(?:${words})\\b`, "gi"), instead] as const);

/** Banned words of a text, without names that it quotes as code: public names stay as they are. */
function findBanned(path: string, text: string): string[] {
  const prose = text.replace(/```[\s\S]*?```|`[^`\n]*`|^(?: {4}|\t).*$|@param \w+|\]\([^)]*\)/gm, " ");
  return rules.flatMap(([pattern, instead]) =>
    [...prose.matchAll(pattern)].map(([word]) => `${path}: "${word}": say ${instead}`),
  );
}

/** Comments of a source; a text that looks like one counts as text. */
function readComments(source: string): string[] {
  const parts = source.matchAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/gm);
  return [...parts].map(([part]) => part).filter((part) => part.startsWith("/"));
}

const folders = ["src", "ingest", "query", "store", "bench", "test", "docs"];
const paths = [
  ...readdirSync(root),
  ...folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
  ),
].filter((path) => path !== self);
const readText = (path: string): string => readFileSync(join(root, path), "utf8");
const comments = paths
  .filter((path) => /\.(?:tsx?|mjs)$/.test(path))
  .flatMap((path) => readComments(readText(path)).map((text) => ({ path, text })));

suite("words", (test) => {
  test("comments are found, and texts are none", () => {
    const source = 'const url = "https://a/b"; // one\n/** two */ const x = `// text`;';
    assert.equal(readComments(source), ["// one", "/** two */"]);
    assert.equal(findBanned("a.ts", "/** Whoever is told `aside` */").length, 2);
    assert.ok(comments.length > 5000, `only ${comments.length}`);
  });

  test("comments do without private words", () => {
    assert.equal(
      comments.flatMap(({ path, text }) => findBanned(path, text.replace(/^\s*\*/gm, ""))),
      [],
    );
  });

  test("no comment begins with Of", () => {
    const found = comments.filter(({ text }) => /^\/(?:\/|\*\*?)\s*\*?\s*Of\b/.test(text));
    assert.equal(
      found.map(({ path, text }) => `${path}: ${text.slice(0, 60)}`),
      [],
    );
  });

  test("documents do without private words", () => {
    const documents = paths.filter((path) => path.endsWith(".md"));
    assert.ok(documents.length > 100);
    assert.equal(
      documents.flatMap((path) => findBanned(path, readText(path))),
      [],
    );
  });
});
