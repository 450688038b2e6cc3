import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** Whether the content of an element does not fit: then it scrolls, and the keyboard must reach it. */
export function useCut(place: { readonly current: HTMLElement | null }): boolean {
  const isCut = useSignal(false);
  useEffect(() => {
    const { current } = place;
    if (current === null) return;
    const look = (): void => {
      const { scrollWidth, clientWidth, scrollHeight, clientHeight } = current;
      isCut.value = scrollWidth > clientWidth || scrollHeight > clientHeight;
    };
    const watch = new ResizeObserver(look);
    for (const one of [current, ...current.children]) watch.observe(one);
    return () => watch.disconnect();
  }, []);
  return isCut.value;
}
