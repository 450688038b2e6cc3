/** The words of alerts that the service itself names, as it writes them and in English. */
const ownWords: readonly (readonly [string, string])[] = [
  ["设备离线", "Device offline"],
  ["超上限", " above its upper limit"],
  ["低于下限", " below its lower limit"],
  ["故障", " has a fault"],
  ["进入禁止区域", "Entered a forbidden area"],
  ["离开活动区域", "Left its area"],
  ["：", ": "],
];

/** The texts of a rule are its author's. */
export function alertInEnglish({ cause }: { readonly cause: string }, text: string): string {
  if (cause.startsWith("rule:")) return text;
  return ownWords.reduce((parts, [from, to]) => parts.replace(from, to), text);
}
