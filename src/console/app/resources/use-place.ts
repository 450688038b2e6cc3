/** Keeps the scroll position in the browser's history entry: a user who goes back finds the page as it was. */
import { useEffect } from "preact/hooks";

const settledMs = 100;

interface Left {
  readonly scrolled: number;
}

/** @param isThere whether what is scrolled through is drawn; before, there is nothing to scroll to */
export function usePlace(isThere: boolean): void {
  useEffect(() => {
    if (!isThere) return;
    const left = history.state as Left | null;
    if (typeof left?.scrolled === "number") scrollTo(0, left.scrolled);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const keep = (): void => {
      clearTimeout(timer);
      const { href } = location;
      timer = setTimeout(() => {
        // A place that was left meanwhile is not this one's.
        if (location.href === href) history.replaceState({ scrolled: scrollY } satisfies Left, "");
      }, settledMs);
    };
    addEventListener("scroll", keep, { passive: true });
    return () => {
      removeEventListener("scroll", keep);
      clearTimeout(timer);
    };
  }, [isThere]);
}
