/** Paths within ten by ten pixels. */
export const shapes = {
  good: "M5 1a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
  warn: "M5 1l4.500 8H.5z",
  bad: "M1 1h8v8H1z",
  idle: "M5 1.700a3.300 3.300 0 1 0 0 6.600 3.300 3.300 0 0 0 0-6.600z",
  late: "M5 .700a4.300 4.300 0 1 0 0 8.600 4.300 4.300 0 0 0 0-8.600zM5 2.500V5.200l1.800 1",
} as const;

export type Tone = keyof typeof shapes;

/** Shapes that are lines. */
export const isOutlined = (tone: Tone): boolean => tone === "idle" || tone === "late";

/** A state: by shape, by word and by colour, so that none of them has to be seen. */
export function Status({ tone, word }: { readonly tone: Tone; readonly word: string }) {
  const fill = isOutlined(tone) ? "none" : "currentColor";
  return (
    <span class={`status ${tone}`}>
      <svg width="10" height="10" viewBox="0 0 10 10" fill={fill} stroke="currentColor" aria-hidden="true">
        <path d={shapes[tone]} />
      </svg>
      {word}
    </span>
  );
}
