/** Text as names are: without control characters, which look like nothing and which stores cut texts at. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
export const withoutControls = /^[^\u0000-\u001f\u007f]*$/;

export function hasControls(text: string): boolean {
  return !withoutControls.test(text);
}
