import { signal } from "@preact/signals";

/** Grows when something may have been missed: whatever is on the screen is asked for again. */
export const missedAt = signal(0);
