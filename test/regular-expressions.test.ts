/**
 * Every regular expression of the sources takes time in proportion to the text that it is tried on: a field, a cell or
 * a packet may be long. Those of the compiled sources are found and looked through for parts that may share out the same
 * characters in many ways, or begin anew at each of them.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, type Token, tokTypes } from "acorn";
import { analyse } from "scslre";
import { readTime } from "../ingest/decode/time.js";
import { isDateFormat } from "../src/import-export/devices/xlsx-cells.js";
import { mailAddressForm, mailboxForm } from "../store/lib/mail-addresses.js";
import { readInteger, readNumber } from "../store/lib/number-text.js";
import { assert, cpuTime, suite } from "./suite.js";

interface Expression {
  readonly file: string;
  readonly source: string;
  readonly flags: string;
}

const root = join(import.meta.dirname, "..");
const files = ["src", "ingest", "query", "store"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js"))
    .map((name) => join(folder, name)),
);

/** Expressions that are put together from parts, as they come out: each was looked at. */
const assembled: Readonly<Record<string, readonly string[]>> = {
  "src/certificates/authority.js": ["-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----"],
  "src/devices/rules.js": ["^[0-9a-fA-F]{16}$", "^[0-9a-fA-F]{16}$"],
  "ingest/decode/exact-numbers.js": ['"mark(-?\\d+)"'],
  "query/formula/formula.js": ["(?<![\\p{L}\\p{N}_$])name(?![\\p{L}\\p{N}_$])"],
  "store/lib/mail-addresses.js": [mailAddressForm.source, mailboxForm.source],
};

function tokensOf(file: string): Token[] {
  const tokens: Token[] = [];
  const text = readFileSync(join(root, file), "utf8");
  parse(text, { ecmaVersion: "latest", sourceType: "module", onToken: tokens });
  return tokens;
}
const isWord = (token: Token | undefined, word: string) =>
  token?.type === tokTypes.name && "value" in token && token.value === word;

function literalsOf(file: string): Expression[] {
  return tokensOf(file)
    .filter(({ type }) => type === tokTypes.regexp)
    .map((token) => {
      const { pattern, flags } = (token as unknown as { value: { pattern: string; flags: string } }).value;
      return { file, source: pattern, flags };
    });
}

/** How many expressions a file makes at run time. */
const madeIn = (file: string): number => {
  const tokens = tokensOf(file);
  return tokens.filter((one, i) => isWord(one, "RegExp") && tokens[i + 1]?.type === tokTypes.parenL).length;
};

/** What is wrong with it; empty where its time is in proportion. */
function faultsOf({ source, flags }: Pick<Expression, "source" | "flags">): string[] {
  return analyse({ source, flags }).reports.map(
    ({ type, character }) => `${type} of ${JSON.stringify(character.pick)}`,
  );
}

suite("regular expressions", (test) => {
  test("the looking finds what is quadratic", () => {
    const wrong: readonly (readonly [string, string])[] = [
      ["^\\s*[+-]?\\d*\\.?\\d*(?:[eE][+-]?\\d+)?\\s*$", ""],
      ["^(-?)0*(\\d+)(?:\\.(\\d+))?$", ""],
      ["^(\\S+)\\s+(.*)$", ""],
      ["\\[(?!h|m|s)[^\\]]*\\]", "g"],
      ["\\s+$", ""],
      ["^(?:a+)+$", ""],
    ];
    const missed = wrong.filter(([source, flags]) => faultsOf({ source, flags }).length === 0);
    assert.equal(missed, []);
    assert.equal(faultsOf({ source: ",\\s*,", flags: "g" }), []);
  });

  test("every expression of the sources takes time in proportion", () => {
    const found = files.flatMap(literalsOf);
    assert.ok(found.length > 120, `${found.length} expressions`);
    const faults = found.flatMap((one) =>
      faultsOf(one).map((fault) => `${one.file}: /${one.source}/${one.flags}: ${fault}`),
    );
    assert.equal(faults, []);
  });

  test("those that are made at run time are known, and take it likewise", () => {
    const made = Object.fromEntries(
      files.map((file) => [file, madeIn(file)] as const).filter(([, count]) => count > 0),
    );
    const known = Object.fromEntries(
      Object.entries(assembled).map(([file, sources]) => [file, sources.length]),
    );
    assert.equal(made, known);
    for (const source of Object.values(assembled).flat()) {
      assert.equal(faultsOf({ source, flags: "u" }), [], source);
    }
  });

  test("a million characters of numbers, times and formats are read or refused at once", () => {
    const long = 1_000_000;
    const local = { toUtc: (wall: number) => wall } as never;
    const tries: Readonly<Record<string, () => unknown>> = {
      digits: () => readNumber(`${"1".repeat(long)}x`),
      spaces: () => readNumber(`1${" ".repeat(long)}x`),
      integer: () => readInteger(`${"1".repeat(long)}x`),
      zeros: () => readTime(`${"0".repeat(long)}x`, local),
      format: () => isDateFormat(200, "[".repeat(long)),
    };
    for (const [name, attempt] of Object.entries(tries)) {
      const spent = cpuTime();
      attempt();
      // A quadratic one takes minutes.
      assert.ok(spent() < 2_000, name);
    }
  });
});
