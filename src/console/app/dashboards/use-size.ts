import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

/** Pixels inside an element, without its padding; 0 until it is laid out. */
export function useSize(place: RefObject<HTMLElement | null>): {
  readonly width: number;
  readonly height: number;
} {
  const size = useSignal({ width: 0, height: 0 });
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry === undefined) return;
      const { width, height } = entry.contentRect;
      size.value = { width: Math.floor(width), height: Math.floor(height) };
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size.value;
}
