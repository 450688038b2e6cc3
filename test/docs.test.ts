/** The documents: what they link to and cite exists, every decision is in the index, every folder on the map. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize, sep } from "node:path";
import { repositoryRoot } from "./repository.js";
import { assert, suite } from "./suite.js";

const root = repositoryRoot();
const skipped = new Set(["node_modules", "dist", ".git", "data"]);
const files = list("");
const folders = new Set(files.flatMap(foldersOf));
const known = new Set([...files, ...folders]);
const names = new Set(files.map((path) => basename(path)));
const textOf = (path: string): string => readFileSync(join(root, path), "utf8");
const documents = files.filter((path) => path.endsWith(".md"));
/** The changelog is left out: it names files as they were. */
const present = documents.filter((path) => path !== "CHANGELOG.md");
const sources = files.filter((path) => /^(src|ingest|query|store|test|bench)\/.*\.(tsx?|mjs)$/.test(path));

const decisionsIndex = textOf("docs/decisions/README.md");
const decisions = files.filter((path) => /^docs\/decisions\/\d{3}-.*\.md$/.test(path)).sort();

suite("docs", (test) => {
  test("README has at most 150 lines", () => {
    const lines = textOf("README.md").trimEnd().split("\n");
    assert.ok(lines.length <= 150, `${lines.length} lines`);
  });

  test("every decision has a date, a status and a subject, and its row in the index", () => {
    const rows = [
      ...decisionsIndex.matchAll(
        /^\| ([a-z-]+) \| \[(\d{3})\]\(([^)]+)\) \| (.+?) \| .+ \| (\S+) \| ([a-z0-9 ]+) \|$/gm,
      ),
    ];
    const listed = rows.map(
      ([, subject, number, file, title, date, status]) =>
        `${file}: # ${number} ${title}\n\n- Date: ${date}\n- Status: ${status}\n- Subject: ${subject}\n\n`,
    );
    const written = decisions.map((path) => `${basename(path)}: ${headOf(textOf(path))}`);
    assert.equal(
      written.filter((one) => !listed.includes(one)),
      [],
      "not in the index",
    );
    assert.equal(listed.length, written.length);
    const order = rows.map(([, subject, number]) => `${subject} ${number}`);
    assert.equal(order, [...order].sort(), "sorted by subject and number");
    const without = /Numbers without a page:(.*)/s.exec(decisionsIndex)?.[1] ?? "";
    const numbers = [...rows.map(([, , number]) => Number(number)), ...numbersIn(without)].sort(
      (x, y) => x - y,
    );
    assert.equal(
      numbers,
      numbers.map((_, i) => i + 1),
    );
  });

  test("every decision that is cited exists", () => {
    const numbers = new Set(decisions.map((path) => basename(path).slice(0, 3)));
    const wrong = [...present, ...sources].flatMap((path) =>
      [...textOf(path).matchAll(/\b[dD]ecision (\d{3})\b/g)]
        .filter(([, number = ""]) => !numbers.has(number))
        .map(([cited]) => `${path}: ${cited}`),
    );
    assert.equal(wrong, []);
  });

  test("every relative link leads to a file, and to a heading of it", () => {
    const wrong = documents.flatMap((path) =>
      [...textOf(path).matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]*))?\)/g)]
        .filter(([, to = "", anchor]) => {
          const target =
            to === ""
              ? path
              : normalize(join(dirname(path), to))
                  .split(sep)
                  .join("/");
          if (!known.has(target.replace(/\/$/, ""))) return true;
          return anchor !== undefined && !headingsOf(textOf(target)).has(anchor);
        })
        .map(([link]) => `${path}: ${link}`),
    );
    assert.equal(wrong, []);
  });

  test("every file of ours that documents and comments cite is there", () => {
    const wrong = [
      ...present.map((path) => ({ path, text: textOf(path) })),
      ...sources.map((path) => ({ path, text: commentsOf(textOf(path)) })),
    ].flatMap(({ path, text }) =>
      citedIn(text)
        .filter((cited) => !isThere(path, cited))
        .map((cited) => `${path}: ${cited}`),
    );
    assert.equal(wrong, []);
  });

  test("what docs/architecture says where it is, is there", () => {
    const rows = [...textOf("docs/architecture.md").matchAll(/^\| (where .+?) \| (.+) \|$/gm)];
    assert.ok(rows.length >= 5);
    for (const [, question = "", answer = ""] of rows) {
      const named = [...answer.matchAll(/`([^`]+\.ts)`, `([#\w]+)`/g)];
      for (const [, path = "", name = ""] of named)
        assert.ok(textOf(path).includes(`${name}(`), `${question}: ${name} in ${path}`);
    }
  });

  test("every folder is on the map of CONTRIBUTING, and nothing else", () => {
    const rooms = sources
      .filter((path) => /^(src|ingest|query|store)\//.test(path))
      .map((path) => `${dirname(path)}/`);
    const map = [...textOf("CONTRIBUTING.md").matchAll(/^\| `((?:src|ingest|query|store)\/[^`]*)` \|/gm)];
    const named = map.map(([, room = ""]) => room);
    assert.equal(
      [...new Set(rooms)].filter((room) => !named.includes(room)),
      [],
      "not on the map",
    );
    assert.equal(
      named.filter((room) => !rooms.includes(room)),
      [],
      "no such folder",
    );
  });
});

function list(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (skipped.has(entry.name)) return [];
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    return entry.isDirectory() ? list(path) : [path];
  });
}

function foldersOf(path: string): string[] {
  const folder = dirname(path);
  return folder === "." ? [] : [folder, ...foldersOf(folder)];
}

/** The title and the three lines below it, in the one form that the index can be compared with. */
function headOf(text: string): string {
  const head =
    /^# \d{3} .+\n\n- Date: \d{4}-\d\d-\d\d\n- Status: (?:accepted|(?:superseded|amended) by \d{3})\n- Subject: [a-z-]+\n\n/;
  return head.exec(text)?.[0] ?? text.split("\n")[0] ?? "";
}

/** Reads "005" and "050 to 055" at the beginnings of rows. */
function numbersIn(text: string): number[] {
  const cells = [...text.matchAll(/^\| ([^|]*) \|/gm)].map(([, cell = ""]) => cell).join(", ");
  return [...cells.matchAll(/(\d{3})(?: to (\d{3}))?/g)].flatMap(([, from, to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => Number(from) + i),
  );
}

/** Anchors as GitHub makes them. */
function headingsOf(text: string): Set<string> {
  const headings = [...text.replace(/^```.*?^```/gms, "").matchAll(/^#{1,6} (.+)$/gm)];
  return new Set(
    headings.map(([, heading = ""]) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

function commentsOf(text: string): string {
  return (text.match(/\/\*.*?\*\/|(?<=^|\s)\/\/.*?$/gms) ?? []).join("\n");
}

/** Paths below our folders, with or without an extension, and names of sources: `scheduling.ts`. */
function citedIn(text: string): string[] {
  const paths = text.match(/(?<![\w./:@~-])(?:src|ingest|query|store|test|bench|docs)\/[\w./-]*\w/g) ?? [];
  const sources =
    text.match(/(?<![\w./*<-])[\w-]+(?:\/[\w.-]+)*(?:\.(?:test|worker|child))?\.(?:ts|mjs)\b/g) ?? [];
  // What is built has the name of its source.
  return [...new Set([...paths, ...sources].map((path) => path.replace(/\.js$/, ".ts")))];
}

/** From the root, from the file's own folder, or by its name alone. */
function isThere(from: string, cited: string): boolean {
  const places = [
    cited,
    normalize(join(dirname(from), cited))
      .split(sep)
      .join("/"),
  ];
  const endings = ["", ".ts", ".test.ts", ".slow.test.ts", ".md"];
  if (places.some((place) => endings.some((ending) => known.has(`${place}${ending}`)))) return true;
  return !cited.includes("/") && names.has(cited);
}
