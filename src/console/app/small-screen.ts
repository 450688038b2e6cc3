/** Whether the screen is a phone's: below it pages have one column. */
import { signal } from "@preact/signals";

const smallScreen = matchMedia("(max-width: 719px)");
export const isSmallScreen = signal(smallScreen.matches);
smallScreen.addEventListener("change", () => {
  isSmallScreen.value = smallScreen.matches;
});
