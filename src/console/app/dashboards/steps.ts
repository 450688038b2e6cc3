/** The steps of an edit, each of which can be taken back. Pure. */

interface Step<Content> {
  readonly content: Content;
  /** The one field that it changed; null: several, or something came or went. */
  readonly field: string | null;
  /** Milliseconds. */
  readonly at: number;
}

export type Steps<Content> = readonly [Step<Content>, ...Step<Content>[]];

const stepsMax = 100;
/** Typing is one step, as long as there is no longer pause in it. */
const typingMs = 1000;

export const begun = <Content>(content: Content): Steps<Content> => [{ content, field: null, at: 0 }];

export const readNewestStep = <Content>(steps: Steps<Content>): Content => (steps.at(-1) ?? steps[0]).content;

export function stepped<Content>(steps: Steps<Content>, content: Content, at: number): Steps<Content> {
  const changed = listChanges(readNewestStep(steps), content, "");
  if (changed.length === 0) return steps;
  const [first, ...rest] = steps;
  const field = changed.length === 1 ? (changed[0] ?? null) : null;
  const last = rest.at(-1);
  const isTyping = last !== undefined && field !== null && last.field === field && at - last.at < typingMs;
  const kept = isTyping ? rest.slice(0, -1) : rest.slice(2 - stepsMax);
  return [first, ...kept, { content, field, at }];
}

export function unstepped<Content>([first, ...rest]: Steps<Content>): Steps<Content> {
  return [first, ...rest.slice(0, -1)];
}

export const isSame = (a: unknown, b: unknown): boolean => listChanges(a, b, "").length === 0;

/** Paths of what differs, until it is more than one; two where something of a list came or went. */
function listChanges(a: unknown, b: unknown, path: string): string[] {
  if (Object.is(a, b)) return [];
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return [path];
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  if (Array.isArray(a) && Array.isArray(b) && a.length !== b.length) return [`${path}*`, path];
  const found: string[] = [];
  for (const name of names) {
    const [from, to] = [a, b].map((one) => (one as Readonly<Record<string, unknown>>)[name]);
    found.push(...listChanges(from, to, `${path}/${name}`));
    if (found.length > 1) break;
  }
  return found;
}
