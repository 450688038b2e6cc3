/** How a CSV file separates its cells, as its first line shows. */
export interface CsvDialect {
  /** One character of ASCII. */
  readonly delimiter: string;
  /** Whether numbers may be written with a decimal comma: only beside semicolons, since `1,234` is a thousand elsewhere. */
  readonly decimalComma: boolean;
  /** Characters before the header: those of a line `sep=;`, which names the delimiter for Excel. */
  readonly skip: number;
}

/** Spreadsheets of countries with a decimal comma write semicolons. */
const delimiters = [",", ";", "\t"] as const;
const separatorLine = /^"?sep=([\t !#-/:;<>?@[-`{|}~])"?(?:\r\n|\r|\n|$)/i;

/** @param start the beginning of the file without its byte order mark, its first line in full if it is not overlong */
export function readDialect(start: string): CsvDialect {
  const [line, delimiter] = separatorLine.exec(start) ?? ["", mostFrequent(start)];
  return { delimiter, decimalComma: delimiter === ";", skip: line.length };
}

/** The delimiter that separates the header into most cells; the earlier of two. */
function mostFrequent(start: string): string {
  const [header = ""] = start.split(/[\r\n]/, 1);
  const bare = header.replaceAll(/"[^"]*"/g, "");
  const counted = delimiters.map((delimiter) => ({ delimiter, count: bare.split(delimiter).length }));
  return counted.reduce((best, one) => (one.count > best.count ? one : best)).delimiter;
}

const commaForm = /^[+-]?\d+,\d+(?:[eE][+-]?\d+)?$/;

export function isDecimalComma(text: string): boolean {
  return commaForm.test(text);
}
