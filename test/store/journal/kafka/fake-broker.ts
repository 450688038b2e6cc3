/** A broker that leads partition 0 of any topic and answers appends as a test says. */
import { createServer, type Socket } from "node:net";
import { Writer } from "@platformatic/kafka";

/** To an append: an error code with an offset, or what it does with the connection instead. */
export type Reply =
  | { readonly code: number; readonly offset?: bigint }
  | "end"
  | "silence"
  | "flood"
  | "noise";

interface FakeBroker {
  readonly port: number;
  /** Appends that it has seen. */
  readonly appends: number;
  /** That it has taken, and of those the ones that are open. */
  readonly connections: number;
  readonly open: number;
  /** Ends all connections. */
  hangUp(): void;
  close(): Promise<void>;
}

const topicID = "4f3c2b1a-0000-4000-8000-000000000001";
const [produce, metadata, apiVersions] = [0, 3, 18];
const understood = [produce, 1, 2, metadata, apiVersions, 19, 21, 32];

/** @param reply what the n-th append gets, from 0; `versionMax` of what it says that it understands */
export async function startFakeBroker(
  reply: (append: number) => Reply,
  topic: string,
  versionMax = 20,
): Promise<FakeBroker> {
  const sockets = new Set<Socket>();
  let appends = 0;
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    onRequests(socket, (key, correlation) => {
      const send = (body: Writer) => socket.write(framed(correlation, key !== apiVersions, body));
      if (key === apiVersions) send(versionsAnswer(versionMax));
      else if (key === metadata) send(metadataAnswer(topic, portOf()));
      else answerAppend(socket, reply(appends++), (one) => send(produceAnswer(topic, one)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const portOf = (): number => (server.address() as { port: number }).port;
  const hangUp = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: portOf(),
    get appends() {
      return appends;
    },
    get connections() {
      return connections;
    },
    get open() {
      return sockets.size;
    },
    hangUp,
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      hangUp();
      return closed;
    },
  };
}

function answerAppend(
  socket: Socket,
  reply: Reply,
  send: (reply: { code: number; offset?: bigint }) => void,
) {
  if (typeof reply === "object") send(reply);
  else if (reply === "end") socket.destroy();
  else if (reply === "noise") socket.write(Buffer.alloc(64, 0x11));
  else if (reply === "flood") {
    const head = Buffer.alloc(8);
    head.writeInt32BE(1 << 30);
    socket.write(head);
    const pour = (): void => {
      if (!socket.destroyed) socket.write(Buffer.alloc(1 << 16), () => setImmediate(pour));
    };
    pour();
  }
}

function onRequests(socket: Socket, take: (key: number, correlation: number) => void): void {
  let bytes = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE()) {
      const [key, correlation] = [bytes.readInt16BE(4), bytes.readInt32BE(8)];
      bytes = bytes.subarray(4 + bytes.readInt32BE());
      take(key, correlation);
    }
  });
}

function framed(correlation: number, hasTags: boolean, body: Writer): Buffer {
  const answer = Writer.create().appendInt32(correlation);
  if (hasTags) answer.appendTaggedFields();
  return answer.appendFrom(body).prependLength().buffer;
}

function versionsAnswer(versionMax: number): Writer {
  return Writer.create()
    .appendInt16(0)
    .appendArray([...understood], (w, key) => w.appendInt16(key).appendInt16(0).appendInt16(versionMax))
    .appendInt32(0)
    .appendTaggedFields();
}

function metadataAnswer(topic: string, port: number): Writer {
  const numbers = (w: Writer, all: number[]) => w.appendArray(all, (x, n) => x.appendInt32(n), true, false);
  return Writer.create()
    .appendInt32(0)
    .appendArray([port], (w, one) =>
      w.appendInt32(1).appendString("127.0.0.1").appendInt32(one).appendString(null),
    )
    .appendString("cluster")
    .appendInt32(1)
    .appendArray([topic], (w, name) => {
      w.appendInt16(0).appendString(name).appendUUID(topicID).appendBoolean(false);
      w.appendArray([0], (x, partition) => {
        x.appendInt16(0).appendInt32(partition).appendInt32(1).appendInt32(0);
        for (const nodes of [[1], [1], []]) numbers(x, nodes);
      }).appendInt32(0);
    })
    .appendTaggedFields();
}

function produceAnswer(topic: string, { code, offset = -1n }: { code: number; offset?: bigint }): Writer {
  return Writer.create()
    .appendArray([topic], (w, name) => {
      w.appendString(name).appendArray([0], (x, partition) => {
        x.appendInt32(partition).appendInt16(code);
        for (const value of [offset, -1n, 0n]) x.appendInt64(value);
        x.appendArray([], () => {}).appendString(null);
      });
    })
    .appendInt32(0)
    .appendTaggedFields();
}
