/** Names must not hold control characters: they are invisible, and some stores cut texts at them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
export const withoutControls = /^[^\u0000-\u001f\u007f]*$/;

export function hasControls(text: string): boolean {
  return !withoutControls.test(text);
}
