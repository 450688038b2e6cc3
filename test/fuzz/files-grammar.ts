/** Files that imports take: CSV, NDJSON, workbooks in their zip, each plain, packed by gzip, or in a multipart form. */
import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { bookParts } from "../import-export/devices/workbooks.js";
import { type Content, request } from "./http-grammar.js";
import type { Random } from "./random.js";
import { bytesOf, type Group, leaf, type Part, separated, sequence } from "./tree.js";

const cells = [
  ...[
    "fuzz-1",
    "temp",
    "2026-01-01T00:00:00Z",
    "1767225600",
    "21.5",
    "-1",
    "",
    '"a,b"',
    '"a""b"',
    "'=1+1",
    "1",
    "x",
  ],
  ...["deviceID", "deviceName", "true", '"[1,2]"', "1e308", "2026-01-01 00:00:00"],
] as const;
const columns = [
  "deviceID",
  "dataPointID",
  "time",
  "value",
  "temp",
  "deviceName",
  "deviceType",
  "metaData",
] as const;
const ends = ["\r\n", "\n", "\r"] as const;

function csv(random: Random): Group {
  const by = random.pick([",", ";", "\t"]);
  const header = separated(by, [...random.some(1, 5, () => random.pick(columns)), "deviceID"]);
  const row = () =>
    separated(
      by,
      random.some(1, 6, () => random.pick(cells)),
    );
  return separated(random.pick(ends), [header, ...random.some(0, 20, row)]);
}

function ndjson(random: Random): Group {
  const member = () =>
    separated(":", [JSON.stringify(random.pick(columns)), random.pick(["1", '"x"', "null", '"temp"'])]);
  const line = () => sequence("{", separated(",", random.some(1, 5, member)), "}");
  return separated("\n", random.some(1, 20, line));
}

const zipName = (name: string) => Buffer.from(name);

/** An entry of a zip file as its local header and data, and as its line in the directory. */
function entry(
  name: string,
  content: Part,
  packed: boolean,
): { local: Part; central: (at: number) => Buffer } {
  const plain = bytesOf(content);
  const data = packed ? deflateRawSync(plain) : plain;
  const numbers = Buffer.alloc(26);
  numbers.writeUInt16LE(20, 0);
  numbers.writeUInt16LE(packed ? 8 : 0, 4);
  numbers.writeUInt32LE(crc32(plain), 10);
  numbers.writeUInt32LE(data.length, 14);
  numbers.writeUInt32LE(plain.length, 18);
  numbers.writeUInt16LE(zipName(name).length, 22);
  const central = (at: number): Buffer => {
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    return Buffer.concat([Buffer.from("PK\u0001\u0002\u0014\u0000", "latin1"), numbers, rest, zipName(name)]);
  };
  return { local: sequence("PK\u0003\u0004", numbers, name, data), central };
}

function zip(parts: Readonly<Record<string, Part>>, random: Random): Group {
  const entries = Object.entries(parts).map(([name, content]) => entry(name, content, random.once(2)));
  return {
    parts: entries.map(({ local }) => local),
    join: (locals) => {
      let at = 0;
      const directory = entries.map(({ central }, i) => {
        const line = central(at);
        at += locals[i]?.length ?? 0;
        return line;
      });
      const start = locals.reduce((sum, { length }) => sum + length, 0);
      const end = Buffer.alloc(22);
      end.write("PK\u0005\u0006", "latin1");
      end.writeUInt16LE(directory.length, 8);
      end.writeUInt16LE(directory.length, 10);
      end.writeUInt32LE(Buffer.concat(directory).length, 12);
      end.writeUInt32LE(start, 16);
      return Buffer.concat([...locals, ...directory, end]);
    },
  };
}

const markup = [
  "<",
  ">",
  "</row>",
  '<row r="1048576">',
  "&#0;",
  "&amp;",
  "]]>",
  "<![CDATA[",
  "<!--",
  "<?x?>",
  "&x;",
] as const;

/** A sheet's XML cut at its tags, so that changes fall between them. */
function xml(text: string, random: Random): Part {
  const pieces = text.split(/(?<=>)|(?=<)/).map((piece) => leaf(piece));
  if (random.once(2)) pieces.splice(random.below(pieces.length + 1), 0, leaf(random.pick(markup)));
  return sequence(...pieces);
}

/** `change` is applied to the parts before they are packed: what reaches the reader is then changed, not only broken. */
function workbook(random: Random, change: (part: Part) => Part): Group {
  const cell = () =>
    `<c t="${random.pick(["inlineStr", "n", "s", "b", "e", "d"])}"><is><t>${random.pick(columns)}</t></is><v>${random.below(9)}</v></c>`;
  const rows = random.some(1, 6, () => `<row>${random.some(1, 6, cell).join("")}</row>`).join("");
  const strings = random.some(0, 4, () => "<si><t>deviceID</t></si>").join("");
  const made = Object.entries(bookParts(rows, strings)).map(([name, text]) => {
    const part = xml(text, random);
    return [name, random.once(4) ? change(part) : part] as const;
  });
  return zip(Object.fromEntries(made), random);
}

function form(file: Part, random: Random): Content {
  const boundary = "fuzz-boundary";
  const part = (head: string, body: Part): Part =>
    sequence(`--${boundary}\r\n`, "Content-Disposition: ", "form-data", head, "\r\n", "\r\n", body, "\r\n");
  const field = () => part(`; name="${random.pick(["x", "", "file", "__proto__"])}"`, sequence("1"));
  const parts = [...random.some(0, 2, field), part('; name="file"; filename="a.bin"', file)];
  const body = sequence(...parts, `--${boundary}--\r\n`);
  return { type: `multipart/form-data; boundary=${boundary}`, body };
}

function packed(file: Part): Group {
  return { parts: [file], join: (parts) => gzipSync(Buffer.concat(parts), { level: 1 }) };
}

/** An import of devices or of points. */
export function anyImport(authorization: string, random: Random, change: (part: Part) => Part): Group {
  if (random.once(3)) {
    const file = random.once(2) ? workbook(random, change) : csv(random);
    const start = { method: "POST", target: sequence("/api/v1/devices_import") };
    return request(start, authorization, form(file, random), random);
  }
  const lines = random.once(2);
  const file = lines ? ndjson(random) : csv(random);
  const start = { method: "POST", target: sequence("/api/v1/original_data") };
  if (random.once(4)) return request(start, authorization, form(file, random), random);
  const type = lines ? "application/x-ndjson" : "text/csv";
  const isPacked = random.once(2);
  const content = { type, body: isPacked ? packed(random.once(2) ? change(file) : file) : file };
  return request(start, authorization, isPacked ? { ...content, encoding: "gzip" } : content, random);
}
