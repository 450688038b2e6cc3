import { useLayoutEffect } from "preact/hooks";

/** Returns the focus on close to where it was on open, so that keyboard users do not begin at the top again. */
export function useReturnFocus(): void {
  useLayoutEffect(() => {
    const opener = document.activeElement;
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);
}
