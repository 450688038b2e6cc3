/** Where links scroll sideways, the one of what is shown is in sight. */
import { useLayoutEffect } from "preact/hooks";

/** @param shown what the links' current one depends on */
export function useCurrentInSight(
  place: { readonly current: HTMLElement | null },
  shown: string | undefined,
): void {
  useLayoutEffect(() => {
    const links = place.current;
    const current = links?.querySelector<HTMLElement>("[aria-current=page]");
    if (links === null || current === null || current === undefined) return;
    const [outer, inner] = [links.getBoundingClientRect(), current.getBoundingClientRect()];
    links.scrollLeft += inner.left - outer.left - (outer.width - inner.width) / 2;
  }, [shown]);
}
