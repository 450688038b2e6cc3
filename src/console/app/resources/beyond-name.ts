/** What the text of an alert says beyond its name, which stands beside it: the value, most often. */
export function beyondName(name: string, content: string | null): string {
  if (content === null || !content.startsWith(name)) return content ?? "";
  const rest = content.slice(name.length);
  return rest === "" || /^[:：]/.test(rest) ? rest.slice(1).trim() : content;
}
