/** Every normative statement that binds a server is shown by a test that is there. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../../repository.js";
import { assert, suite } from "../../../suite.js";
import type { Shown, Statement } from "./statement.js";
import { statements as statements311 } from "./statements-3.1.1.js";
import { statements as statements5 } from "./statements-5.0.js";

/** How many statements each chapter of the specification's appendix B has. */
const specifications: readonly (readonly [string, readonly Statement[], Readonly<Record<string, number>>])[] =
  [
    ["MQTT 3.1.1", statements311, { 1: 3, 2: 9, 3: 95, 4: 26, 6: 4, 7: 4 }],
    ["MQTT 5.0", statements5, { 1: 5, 2: 7, 3: 175, 4: 60, 6: 4 }],
  ];

const root = repositoryRoot();

/** The names of a file's tests; a test that is skipped shows nothing. */
function testsOf(file: string): ReadonlySet<string> {
  if (!existsSync(join(root, file))) return new Set();
  const text = readFileSync(join(root, file), "utf8");
  const names = text.matchAll(/\b(?:test|each|five|four)\(\s*(["'`])((?:(?!\1).)+)\1,\s/g);
  return new Set([...names].map((match) => match[2] ?? ""));
}

suite("MQTT, normative statements", (test) => {
  for (const [name, statements, counts] of specifications) {
    test(`${name}: every statement stands once, in its place`, () => {
      const ids = statements.map(([id]) => id);
      assert.equal(new Set(ids).size, ids.length);
      const found: Record<string, number> = {};
      for (const id of ids) {
        assert.match(id, /^\d+\.\d+\.\d+-\d+$/);
        const chapter = id.split(".")[0] ?? "";
        found[chapter] = (found[chapter] ?? 0) + 1;
      }
      assert.equal(found, counts);
      const sorted = [...ids].sort((a, b) => keyOf(a) - keyOf(b));
      assert.equal(ids, sorted);
    });

    test(`${name}: each one that binds a server is shown by a test, or is not offered`, () => {
      const files = new Map<string, ReadonlySet<string>>();
      const missing = statements.flatMap(([id, , shown]) => {
        if (shown === "client" || "why" in shown) return [];
        const names = files.get(shown.file) ?? testsOf(shown.file);
        files.set(shown.file, names);
        return names.has(shown.name) ? [] : [`${id}: ${where(shown)}`];
      });
      assert.equal(missing, []);
    });
  }
});

const where = ({ file, name }: Shown): string => `${file} › ${name}`;

/** Numbers of an id as one number, in the order of the specification. */
function keyOf(id: string): number {
  return id.split(/[.-]/).reduce((key, part) => key * 1000 + Number(part), 0);
}
