import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useCut } from "./use-cut.js";

interface ScrollProps {
  /** Its name for users who reach it by keyboard. */
  readonly name: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A part that scrolls if its content does not fit; then it can be reached by keyboard. */
export function Scroll({ name, class: more = "", children }: ScrollProps) {
  const place = useRef<HTMLElement>(null);
  const isCut = useCut(place);
  return (
    <section ref={place} class={`scroll ${more}`} {...(isCut ? { "aria-label": name, tabIndex: 0 } : {})}>
      {children}
    </section>
  );
}
