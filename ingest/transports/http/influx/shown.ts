/** Most characters of a client's name in an answer. */
const charactersMax = 100;

/** The name as a fault shows it: an answer does not grow with what was sent. */
export function showText(name: string): string {
  return name.length <= charactersMax ? name : `${name.slice(0, charactersMax)}…`;
}
