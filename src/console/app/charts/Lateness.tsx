import { Status } from "../shell/Status.js";
import { lateText } from "./late-words.js";

/** Beside a value in a table: that it came late. */
export function Lateness({ byMs }: { readonly byMs: number | undefined }) {
  if (byMs === undefined) return null;
  return (
    <>
      {" "}
      <Status tone="late" word={lateText(byMs)} />
    </>
  );
}
