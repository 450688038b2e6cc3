/** Whether the screen is a phone's: below it pages have one column. */
import { signal } from "@preact/signals";

const narrow = matchMedia("(max-width: 719px)");
export const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", () => {
  isNarrow.value = narrow.matches;
});
