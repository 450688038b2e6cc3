/** `npm run bench -- results`: writes `bench/results.md` from the data in `bench/results.json`. */
import { readFile, writeFile } from "node:fs/promises";

/** One line of the data: a figure, or a remark about a run where `figure` is null. */
interface BenchResult {
  readonly date: string | null;
  readonly program: string;
  readonly subject: string;
  /** The baseline of the same run and the ratio to it, or the target. */
  readonly baseline: string | null;
  readonly figure: number | null;
  readonly unit: string | null;
  /** The machine, and the options and load of the run. */
  readonly machine: string;
  readonly note: string | null;
}

const data = new URL("../../bench/results.json", import.meta.url);
const page = new URL("../../bench/results.md", import.meta.url);

export async function readResults(): Promise<BenchResult[]> {
  return JSON.parse(await readFile(data, "utf8")) as BenchResult[];
}

export async function writeResultsPage(): Promise<void> {
  await writeFile(page, renderResults(await readResults()));
}

/** Results that follow each other with the same date, program and machine share a section. */
export function renderResults(results: readonly BenchResult[]): string {
  const lines = [
    "# Results",
    "",
    "This page is made from `bench/results.json` by `npm run bench -- results`.",
  ];
  let section = "";
  let inTable = false;
  for (const result of results) {
    const heading = `## ${[result.date, result.program].filter((part) => part !== null).join(" ")}`;
    const next = `${heading}\n\nMachine: ${result.machine}.`;
    if (next !== section) lines.push("", next);
    if (next !== section) inTable = false;
    section = next;
    if (result.subject === "remark") {
      lines.push("", result.note ?? "");
      inTable = false;
      continue;
    }
    if (!inTable) lines.push("", "| subject | figure | unit | baseline | note |", "|---|---|---|---|---|");
    inTable = true;
    const figure = result.figure?.toLocaleString("en-US", { maximumFractionDigits: 6 }) ?? "";
    const cells = [result.subject, figure, result.unit ?? "", result.baseline ?? "", result.note ?? ""];
    lines.push(`| ${cells.join(" | ")} |`);
  }
  return `${lines.join("\n")}\n`;
}
