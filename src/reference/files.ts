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
      return { bytes, etag: `"${hashFile(bytes)}"` };
    });
    return file;
  };
}

function hashFile(bytes: Uint8Array): string {
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

/**
 * The document that the build wrote. A tree that was only compiled has none yet, and makes the same one. With a prefix
 * of paths, its server has it.
 */
export function documentFile(make: () => object, basePath: string): () => Promise<ServedFile> {
  return served(async () => {
    const document = await readFile(builtDocument).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      return Buffer.from(JSON.stringify(make()));
    });
    if (basePath === "") return document;
    const { servers: _, ...rest } = JSON.parse(document.toString()) as { readonly servers: unknown };
    return Buffer.from(
      JSON.stringify({ ...rest, servers: [{ url: basePath, description: "this service" }] }),
    );
  });
}
