/** What lies over the page: at most one of them, opened from anywhere. */
import { signal } from "@preact/signals";

export const overlay = signal<"search" | "keys" | "password" | null>(null);

export function closeOverlay(): void {
  overlay.value = null;
}
