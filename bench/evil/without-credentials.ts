import { connect as connectTls } from "node:tls";
import { type Attack, createSockets, host, pause, type Target, within } from "./attack.js";

const sockets = createSockets();
const release = (): void => sockets.closeAll();

const requestLine = (method: string, path: string, headers: readonly string[] = []): string =>
  [`${method} ${path} HTTP/1.1`, "Host: tidemark", ...headers, "\r\n"].join("\r\n");

async function times(count: number, step: (index: number) => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => step(index)));
}

/** Guesses, some at once, until the target's time is over. */
async function guess(
  target: Target,
  at: number,
  path: string,
  request: (n: number) => RequestInit,
): Promise<void> {
  let n = 0;
  const lane = async (): Promise<void> => {
    while (performance.now() < target.until) {
      await fetch(`http://${host}:${target.httpPort}${path}`, request(n++)).then(
        (answer) => answer.arrayBuffer(),
        () => pause(10),
      );
    }
  };
  await times(at, lane);
}

/** Nobody has let these in. */
export const withoutCredentials: readonly Attack[] = [
  {
    name: "pipelined",
    what: "5 connections that ask 1,600 times for /openapi.json in one write and read nothing",
    run: async (target) => {
      const requests = requestLine("GET", "/openapi.json").repeat(1_600);
      await times(5, async () => void (await sockets.connect(target.httpPort))?.write(requests));
      await pause(8_000);
    },
    release,
  },
  {
    name: "unfinished bodies",
    what: "1,000 logins whose body of 1 MB never ends",
    run: async (target) => {
      const head = requestLine("POST", "/api/v1/login", [
        "Content-Type: application/json",
        "Content-Length: 1000001",
      ]);
      const body = Buffer.alloc(1_000_000, 0x20);
      await times(1_000, async () => {
        const socket = await sockets.connect(target.httpPort);
        socket?.write(head);
        socket?.write(body);
      });
      await pause(8_000);
    },
    release,
  },
  {
    name: "idle sockets",
    what: "4,000 HTTP connections that say nothing",
    run: async (target) => {
      for (let n = 0; n < 40; n++)
        await times(100, async () => void (await sockets.connect(target.httpPort)));
      await pause(5_000);
    },
    release,
  },
  {
    name: "MQTT port filled",
    what: "MQTT connections that say nothing, one after the other, at a port with 1,000 places",
    environment: { MQTT_CONNECTIONS_MAX: "1000" },
    run: async (target) => {
      const until = Math.min(target.until, performance.now() + 15_000);
      await times(50, async () => {
        while (performance.now() < until) (await sockets.connect(target.mqttPort))?.resume();
      });
    },
    release,
  },
  {
    name: "headers by the byte",
    what: "500 HTTP connections that send a byte of a header every 100 ms",
    run: async (target) => {
      await times(500, async () => {
        const socket = await sockets.connect(target.httpPort);
        socket?.write("GET / HTTP/1.1\r\nX: ");
        while (socket !== null && !socket.destroyed && performance.now() < target.until) {
          socket.write("a");
          await pause(100);
        }
      });
    },
    release,
  },
  {
    name: "login flood",
    what: "40 threads that guess passwords of ever other users",
    run: (target) =>
      guess(target, 40, "/api/v1/login", (n) => ({
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ username: `user-${n}`, password: `wrong-${n}` }),
      })),
  },
  {
    name: "key flood",
    what: "40 threads that guess API keys",
    run: (target) =>
      guess(target, 40, "/api/v1/devices", (n) => ({
        headers: { Authorization: `Bearer key-${n}:secret-${n}` },
      })),
  },
  {
    name: "MQTT guessing",
    what: "20 connections at a time that guess a device's token",
    run: async (target) => {
      const packet = (n: number): Buffer => {
        const text = (value: string) => Buffer.concat([Buffer.from([0, value.length]), Buffer.from(value)]);
        const head = Buffer.from([0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 0xc2, 0, 0]);
        const rest = Buffer.concat([head, text(`c${n}`), text(`user-${n % 7}`), text(`token-${n}`)]);
        return Buffer.concat([Buffer.from([0x10, rest.length]), rest]);
      };
      let n = 0;
      await times(20, async () => {
        while (performance.now() < target.until) {
          const socket = await sockets.connect(target.mqttPort);
          if (socket === null) await pause(10);
          else {
            const closed = new Promise((resolve) => socket.once("close", resolve));
            socket.resume().write(packet(n++));
            await within(target, closed);
          }
        }
      });
    },
    release,
  },
  {
    name: "TLS one byte",
    what: "1,500 connections to the TLS port that send one byte of a handshake",
    environment: { MQTTS_PORT: "0" },
    run: async (target) => {
      for (let n = 0; n < 15; n++)
        await times(
          100,
          async () => void (await sockets.connect(target.tlsPort()))?.write(Buffer.from([0x16])),
        );
      // What a device would feel that comes now.
      await within(
        target,
        new Promise((resolve) => {
          const device = connectTls({ port: target.tlsPort(), host, rejectUnauthorized: false });
          device.once("secureConnect", () => resolve(device.destroy())).on("error", resolve);
        }),
      );
    },
    release,
  },
  {
    name: "CONNECT by the byte",
    what: "500 MQTT connections that send a byte of CONNECT a second",
    run: async (target) => {
      await times(500, async () => {
        const socket = await sockets.connect(target.mqttPort);
        socket?.resume().write(Buffer.from([0x10, 0xff, 0x01]));
        while (socket !== null && !socket.destroyed && performance.now() < target.until) {
          socket.write(Buffer.from([0]));
          await pause(1_000);
        }
      });
    },
    release,
  },
];
