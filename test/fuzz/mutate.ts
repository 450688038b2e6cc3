/** Changes of structure: parts repeated, left out, swapped, taken from elsewhere; numbers and lengths at their ends. */
import type { Random } from "./random.js";
import { bytesOf, type Group, leaf, type Part } from "./tree.js";

/** No structure grows beyond this by one case; what is larger is cut where it is sent. */
const caseBytesMax = 512 * 1024;

const repeatsMax = 2000;
const changesMax = 3;

/** The same tree with up to three changes, some from `other`. */
export function mutated(tree: Part, other: Part, random: Random): Part {
  let changed = tree;
  for (let i = 0; i <= random.below(changesMax); i++) changed = changeOnce(changed, other, random);
  return bytesOf(changed).length > caseBytesMax ? tree : changed;
}

function changeOnce(part: Part, other: Part, random: Random): Part {
  if ("bytes" in part) return changeLeaf(part.bytes, random);
  const deeper = part.parts.length > 0 && !random.once(4);
  if (!deeper) return changeGroup(part, other, random);
  const at = random.below(part.parts.length);
  return { ...part, parts: part.parts.map((one, i) => (i === at ? changeOnce(one, other, random) : one)) };
}

type GroupChange = (group: Group, other: Part, random: Random) => Part;

const groupChanges: readonly GroupChange[] = [
  // A part again and again.
  (group, _, random) => {
    const at = random.below(group.parts.length);
    const one = group.parts.slice(at, at + 1);
    const count = random.pick([2, 3, 50, repeatsMax]);
    const size = one[0] === undefined ? 1 : bytesOf(one[0]).length;
    const repeated = Array.from({ length: Math.min(count, Math.ceil(caseBytesMax / (size + 1))) }, () => one);
    return { ...group, parts: group.parts.toSpliced(at, 1, ...repeated.flat()) };
  },
  // Left out.
  (group, _, random) => ({ ...group, parts: group.parts.toSpliced(random.below(group.parts.length), 1) }),
  // Swapped with another.
  (group, _, random) => {
    const [a, b] = [random.below(group.parts.length), random.below(group.parts.length)];
    const parts = [...group.parts];
    const kept = parts[a];
    if (kept !== undefined && parts[b] !== undefined) {
      parts[a] = parts[b];
      parts[b] = kept;
    }
    return { ...group, parts };
  },
  // A piece of the other structure in its place, or after it.
  (group, other, random) => {
    const at = random.below(group.parts.length + 1);
    return { ...group, parts: group.parts.toSpliced(at, random.below(2), piece(other, random)) };
  },
  // Nested in itself.
  (group, _, random) => {
    const at = random.below(group.parts.length + 1);
    return { ...group, parts: group.parts.toSpliced(at, 0, group) };
  },
  // Cut short, its head as if it were whole.
  (group, _, random) => {
    const bytes = bytesOf(group);
    return leaf(bytes.subarray(0, random.below(bytes.length + 1)));
  },
  // Without its head, or with the head of something else.
  (group, _, random) => {
    const bodies = group.parts.map(bytesOf);
    if (random.once(2)) return leaf(Buffer.concat(bodies));
    const more = Buffer.alloc(random.pick([1, 300, 70_000]), "x");
    const lied = group.join([...bodies, more]);
    return leaf(lied.subarray(0, Math.max(0, lied.length - more.length)));
  },
];

function changeGroup(group: Group, other: Part, random: Random): Part {
  return random.pick(groupChanges)(group, other, random);
}

/** Any part of the tree, the whole one too. */
function piece(tree: Part, random: Random): Part {
  if ("bytes" in tree || tree.parts.length === 0 || random.once(3)) return tree;
  return piece(random.pick(tree.parts), random);
}

const extremeTexts = [
  ...["", "0", "-1", "1e308", "-1e999", "9007199254740993", "4294967296", "0x10", "NaN", "null", "true"],
  ...["2255-06-01T00:00:00Z", "1684-07-31T23:59:59Z", "0000-00-00", "+275760-09-13T00:00:00Z"],
  ...[
    "#",
    "+",
    "$share/x/#",
    "$SYS/#",
    "%c",
    "%u",
    "$\u007bclientid}",
    "../../etc/passwd",
    "__proto__",
    "constructor",
  ],
  ...[
    "\u0000",
    "\ud7ff\ue000",
    "\ufeff",
    "\u202e",
    "'",
    '"',
    "=1+1",
    "{",
    "[[",
    "<!DOCTYPE x>",
    "\r\n",
    "%00",
    "%",
  ],
] as const;

const leafChanges: readonly ((bytes: Buffer, random: Random) => Buffer)[] = [
  (_, random) => Buffer.from(random.pick(extremeTexts)),
  (bytes, random) => Buffer.alloc(bytes.length, random.pick([0, 0x7f, 0x80, 0xff])),
  (_, random) => Buffer.alloc(random.pick([1, 127, 128, 255, 256, 1025, 16_384, 65_535, 65_536]), "a"),
  (_, random) =>
    Buffer.alloc(random.pick([40, 3000, 65_000]), random.pick(["/", "+/", "[", '{"a":', "9", " ", "a,"])),
  (bytes, random) => {
    const changed = Buffer.from(bytes);
    if (changed.length > 0) {
      const at = random.below(changed.length);
      changed[at] = (changed[at] as number) ^ (1 << random.below(8));
    }
    return changed;
  },
  (bytes, random) => {
    const at = random.below(bytes.length + 1);
    return Buffer.concat([bytes.subarray(0, at), Buffer.of(random.below(256)), bytes.subarray(at)]);
  },
  (bytes, random) => bytes.subarray(0, random.below(bytes.length + 1)),
  (bytes) => Buffer.concat([bytes, bytes]),
  (bytes) => Buffer.from(bytes).reverse(),
];

function changeLeaf(bytes: Buffer, random: Random): Part {
  return leaf(random.pick(leafChanges)(bytes, random));
}
