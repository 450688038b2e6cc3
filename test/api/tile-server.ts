/** A tile server on this machine, which does as the test says. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { deflateSync } from "node:zlib";
import { crc32 } from "../../store/lib/crc32.js";

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

interface TileServer {
  /** For MAP_TILES_URL. */
  readonly template: string;
  readonly attribution: string;
  /** Paths, in the order in which they came. */
  readonly asked: string[];
  /** What it does from now on. */
  answer: Answer;
  /** Ends what it answers, too. */
  close(): Promise<void>;
}

/** It stands before the service, whose settings name it. */
export async function openTileServer(): Promise<TileServer> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    opened.answer(response, request);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A file whose suites do not run has nobody who closes it.
  server.unref();
  const { port } = server.address() as AddressInfo;
  const opened: TileServer = {
    template: `http://127.0.0.1:${port}/{z}/{x}/{y}.png?key=secret`,
    attribution: "© <img src=x onerror=alert(1)> contributors",
    asked,
    answer: (response) => {
      response.writeHead(200, { "Content-Type": "image/png" }).end(paleTile);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return opened;
}

/** A PNG of 256 × 256 pixels in one pale colour. */
export const paleTile = png(256, [242, 239, 233]);

function png(size: number, [red, green, blue]: readonly [number, number, number]): Buffer {
  const row = Buffer.concat([
    Buffer.of(0),
    ...Array.from({ length: size }, () => Buffer.of(red, green, blue)),
  ]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  // 8 bits each of red, green and blue.
  header.set([8, 2, 0, 0, 0], 8);
  const rows = deflateSync(Buffer.concat(Array.from({ length: size }, () => row)));
  const begin = Buffer.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
  return Buffer.concat([begin, chunk("IHDR", header), chunk("IDAT", rows), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}
