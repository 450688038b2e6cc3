import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

/** The value once it has stayed the same for so long; the first one at once. */
export function useDebounced(value: string, ms: number): string {
  const settled = useSignal(value);
  useEffect(() => {
    if (settled.value === value) return;
    const timer = setTimeout(() => {
      settled.value = value;
    }, ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled.value;
}
