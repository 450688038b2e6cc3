/** Whether somebody can see an element: what is far away, or on a page in the background, asks for nothing. */
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

/** So near to the edge of the screen it is taken for seen. */
const margin = "200px";

export function useVisible(place: RefObject<HTMLElement | null>): boolean {
  const isNear = useSignal(false);
  const isShown = useSignal(!document.hidden);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        isNear.value = entries.at(-1)?.isIntersecting === true;
      },
      { rootMargin: margin },
    );
    observer.observe(element);
    const onVisibility = (): void => {
      isShown.value = !document.hidden;
    };
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      observer.disconnect();
      document.removeEventListener("visibilitychange", onVisibility);
    };
  }, []);
  return isNear.value && isShown.value;
}
