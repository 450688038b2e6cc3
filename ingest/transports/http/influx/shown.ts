/** Of a name that a client gave, in an answer. */
const charactersMax = 100;

/** The name as a fault tells it: an answer does not grow with what was sent. */
export function showText(name: string): string {
  return name.length <= charactersMax ? name : `${name.slice(0, charactersMax)}…`;
}
