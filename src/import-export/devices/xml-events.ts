import type { Readable } from "node:stream";
import { SaxesParser } from "saxes";
import { FormatError } from "../format-error.js";

interface XmlHandlers {
  /** `name` without its namespace prefix. */
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** One tag or text; a longer one is not a spreadsheet but an attempt to fill memory. */
const markupCharactersMax = 4 * 1024 * 1024;
/** The deepest nesting of elements; a sheet has five levels. The parser remembers every open element. */
const depthMax = 64;
/** A few characters may name a shared text of a million: what one step makes must fit into the thread's memory. */
const stepCharacters = 512;

/**
 * Reads XML in steps; calls `handlers` as it goes, and yields after each step. Refuses document types,
 * and with them entities of the document's own. @throws FormatError
 */
export async function* xmlEvents(source: Readable, handlers: XmlHandlers): AsyncGenerator<void> {
  const parser = new SaxesParser({ position: false });
  let sinceEvent = 0;
  let depth = 0;
  const bare = (name: string) => name.slice(name.indexOf(":") + 1);
  parser.on("error", (error) => {
    throw new FormatError(`the workbook's XML is broken: ${error.message}`);
  });
  parser.on("doctype", () => {
    throw new FormatError("the workbook's XML has a document type, which is not allowed");
  });
  parser.on("opentag", (tag) => {
    sinceEvent = 0;
    if (++depth > depthMax) throw new FormatError("the workbook's XML is nested too deeply");
    handlers.open?.(bare(tag.name), tag.attributes as Readonly<Record<string, string>>);
  });
  parser.on("text", (text) => {
    sinceEvent = 0;
    handlers.text?.(text);
  });
  parser.on("closetag", (tag) => {
    sinceEvent = 0;
    depth--;
    handlers.close?.(bare(tag.name));
  });
  source.setEncoding("utf8");
  const broken = new Set<unknown>();
  source.once("error", (error) => broken.add(error));
  try {
    for await (const chunk of source) {
      for (let at = 0; at < chunk.length; at += stepCharacters) {
        const text = (chunk as string).slice(at, at + stepCharacters);
        sinceEvent += text.length;
        parser.write(text);
        if (sinceEvent > markupCharactersMax)
          throw new FormatError("the workbook's XML has an endless tag or text");
        yield;
      }
    }
    parser.close();
    yield;
  } catch (error) {
    if (!broken.has(error) || error instanceof FormatError || !isZipError(error)) throw error;
    throw new FormatError(`the workbook's zip file is broken: ${error.message}`, { cause: error });
  } finally {
    source.destroy();
  }
}

/** Errors thrown by unpacking: zlib's codes, and the zip reader's plain errors of sizes and checksums. */
function isZipError(error: unknown): error is Error {
  return error instanceof Error && (!("code" in error) || String(error.code).startsWith("Z_"));
}

/** Reads all of a small part. @throws FormatError */
export async function readXml(source: Readable, handlers: XmlHandlers): Promise<void> {
  for await (const _ of xmlEvents(source, handlers)) void _;
}
