/**
 * Makes certain texts harmful to their parser, in a process and in its threads. It is loaded before the program, to
 * imitate faults that future code may have.
 */
import { fileURLToPath, pathToFileURL } from "node:url";

/** Within an object of an object: what is flat is read without JSON.parse. */
export const poisons = { memory: "needs-all-memory", time: "takes-for-ever" } as const;

const here = fileURLToPath(import.meta.url);

/** Node's options that load it. */
export const poisonous = `--import ${pathToFileURL(here).href}`;

function devourMemory(): never {
  const held: unknown[] = [];
  for (;;) held.push(new Array(100_000).fill(1.5));
}

function takeForEver(): never {
  for (;;);
}

if (process.env.TIDEMARK_TEST_POISON === "1") {
  const parse = JSON.parse;
  JSON.parse = (text: string, reviver) => {
    if (typeof text === "string" && text.includes(poisons.memory)) devourMemory();
    if (typeof text === "string" && text.includes(poisons.time)) takeForEver();
    return parse(text, reviver) as unknown;
  };
}
