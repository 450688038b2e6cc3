/** Server-Sent Events out of the text of a stream, piece by piece. */

interface SentEvent {
  readonly name: string;
  readonly data: string;
}

interface Reader {
  /** The id of the newest event that is complete. */
  readonly lastID: string;
  /** Events that are complete with this piece. */
  take(piece: string): SentEvent[];
}

export function createReader(lastID: string): Reader {
  let left = "";
  let id = lastID;
  return {
    get lastID() {
      return id;
    },
    take: (piece) => {
      const blocks = (left + piece).split("\n\n");
      left = blocks.pop() ?? "";
      return blocks.flatMap((block) => {
        const fields = new Map(block.split("\n").map(parseField));
        id = fields.get("id") ?? id;
        const data = fields.get("data");
        return data === undefined ? [] : [{ name: fields.get("event") ?? "message", data }];
      });
    },
  };
}

function parseField(line: string): [name: string, value: string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
}
