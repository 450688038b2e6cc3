import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

/** A file as it is served: read once, when it is first asked for. */
export interface ServedFile {
  /** All answers send these same bytes, without copies. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

export function served(read: () => Promise<Buffer>): () => Promise<ServedFile> {
  let file: Promise<ServedFile> | undefined;
  return () => {
    file ??= read().then((read) => {
      const bytes = Uint8Array.from(read);
      return { bytes, etag: `"${hashOf(bytes)}"` };
    });
    return file;
  };
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
}

/** The path of the parts of the reference page, which do not belong to the interface. */
export const partsPath = "/reference/";

/** A file of the package that draws the page. */
export function libraryFile(name: string): () => Promise<ServedFile> {
  return served(() => readFile(new URL(import.meta.resolve(`swagger-ui-dist/${name}`))));
}

/** The file that the build writes beside the compiled sources. */
export const builtDocument = new URL("../../openapi.json", import.meta.url);

/** The document that the build wrote. A tree that was only compiled has none yet, and makes the same one. */
export function documentFile(make: () => object): () => Promise<ServedFile> {
  return served(async () => {
    try {
      return await readFile(builtDocument);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      return Buffer.from(JSON.stringify(make()));
    }
  });
}
