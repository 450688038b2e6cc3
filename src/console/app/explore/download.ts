/** Files that the person keeps. */
import { call } from "../api.js";
import { saveText } from "../files.js";

const type = "text/csv";

/** @throws ApiFailure */
export async function downloadPoints(
  query: Readonly<Record<string, string | number>>,
  name: string,
): Promise<void> {
  const headers = { Accept: type };
  downloadText(await call<string>("GET", "/original_data", { query, headers, isText: true }), name);
}

export const downloadText = (text: string, name: string): void => saveText(text, type, name);
