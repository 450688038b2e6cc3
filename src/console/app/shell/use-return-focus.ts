import { useLayoutEffect } from "preact/hooks";

/** What closes gives the focus back to where it was when it opened: whoever goes by keys does not begin at the top again. */
export function useReturnFocus(): void {
  useLayoutEffect(() => {
    const opener = document.activeElement;
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);
}
