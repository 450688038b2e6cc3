/** Which rows of a long table are drawn: those in sight. All are of one height. */
import { useEffect, useState } from "preact/hooks";

interface RowWindow {
  readonly first: number;
  /** The first one that is not drawn. */
  readonly end: number;
}

/** Rows that are drawn beyond either edge. */
const overscan = 8;

/** @param place what scrolls through all of the rows */
export function useRowWindow(
  place: { readonly current: HTMLElement | null },
  count: number,
  rowPixels: number,
): RowWindow {
  const [drawn, draw] = useState<RowWindow>({ first: 0, end: 0 });
  useEffect(() => {
    const body = place.current;
    if (body === null) return;
    function look(): void {
      const { scrollTop, clientHeight } = body as HTMLElement;
      const first = Math.max(0, Math.floor(scrollTop / rowPixels) - overscan);
      const end = Math.min(count, Math.ceil((scrollTop + clientHeight) / rowPixels) + overscan);
      draw((before) => (before.first === first && before.end === end ? before : { first, end }));
    }
    look();
    body.addEventListener("scroll", look, { passive: true });
    const watch = new ResizeObserver(look);
    watch.observe(body);
    return () => {
      body.removeEventListener("scroll", look);
      watch.disconnect();
    };
  }, [count, rowPixels]);
  return drawn;
}
