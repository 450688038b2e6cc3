/** A case of each grammar from its seed alone, and where its bytes go. */

import { anyImport } from "./files-grammar.js";
import { framed, upgrade } from "./frames-grammar.js";
import { anyRequest, type Reference } from "./http-grammar.js";
import { type Credentials, conversation, versions } from "./mqtt-grammar.js";
import { mutated } from "./mutate.js";
import { createRandom, type Random } from "./random.js";
import { bytesOf, type Part } from "./tree.js";

export const grammars = ["mqtt", "http", "files", "frames"] as const;
export type Grammar = (typeof grammars)[number];

/** Records of the service under test that cases name. */
export interface Known {
  readonly reference: Reference;
  readonly authorization: string;
  readonly devices: readonly Credentials[];
}

export interface Case {
  readonly grammar: Grammar;
  readonly seed: number;
  readonly listener: "http" | "mqtt" | "ws";
  /** Sent one after the other, each in a write of its own. */
  readonly writes: readonly Buffer[];
  /** Whether the connection is broken off after them. */
  readonly brokenOff: boolean;
}

export function caseOf(grammar: Grammar, seed: number, known: Known): Case {
  const random = createRandom(seed);
  const change = (part: Part): Part => mutated(part, structure(grammar, known, random), random);
  const bytes = made(grammar, known, random, change);
  const listener = grammar === "frames" ? "ws" : grammar === "mqtt" ? "mqtt" : "http";
  const writes = [...(grammar === "frames" ? [upgrade] : []), ...cutUp(bytes, random)];
  return { grammar, seed, listener, writes, brokenOff: random.once(4) };
}

/** One case in eight is as the grammar has it: what is well formed must go well too. */
function made(grammar: Grammar, known: Known, random: Random, change: (part: Part) => Part): Buffer {
  if (grammar === "frames") {
    const said = structure("mqtt", known, random);
    const frames = framed(random.once(2) ? change(said) : said, random);
    return bytesOf(random.once(2) ? change(frames) : frames);
  }
  if (grammar === "files" && !random.once(3)) return bytesOf(anyImport(known.authorization, random, change));
  const tree = structure(grammar, known, random);
  return bytesOf(random.once(8) ? tree : change(tree));
}

function structure(grammar: Grammar, { reference, authorization, devices }: Known, random: Random): Part {
  switch (grammar) {
    case "mqtt":
      return conversation(random.pick(versions), random.pick(devices), random);
    case "frames":
      return framed(conversation(random.pick(versions), random.pick(devices), random), random);
    case "files":
      return anyImport(authorization, random, (part) => part);
    case "http":
      return anyRequest(reference, authorization, random);
  }
}

function cutUp(bytes: Buffer, random: Random): Buffer[] {
  if (!random.once(3) || bytes.length < 2) return [bytes];
  const at = 1 + random.below(bytes.length - 1);
  return [bytes.subarray(0, at), bytes.subarray(at)];
}
