/** Files that the browser keeps. */
import { answerOf } from "../api.js";

/** @throws ApiFailure */
export async function downloadPoints(
  query: Readonly<Record<string, string | number>>,
  name: string,
): Promise<void> {
  const answer = await answerOf("GET", "/original_data", { query, headers: { Accept: "text/csv" } });
  keep(await answer.blob(), name);
}

export const downloadText = (text: string, name: string): void =>
  keep(new Blob([text], { type: "text/csv" }), name);

function keep(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name.replaceAll(/[^\p{L}\p{N}._,+-]+/gu, "-").slice(-120);
  link.click();
  // The browser has taken it over by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
