/** The service under test: a process of its own, with a tenant whose records the cases may do anything to. */
import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { type RunningService, startService } from "../flow/support.js";
import { assert, until } from "../suite.js";
import type { Case, Known } from "./cases.js";
import { operationsOf } from "./http-grammar.js";

export interface Target {
  readonly service: RunningService;
  /** Records of the tenant that the cases use. */
  readonly known: Known;
  /** Statuses of the HTTP answers; a connection that goes on is left after a while. */
  send(one: Case): Promise<readonly number[]>;
  /** Makes anew what cases have deleted: the key, the devices. */
  refresh(): Promise<void>;
  held(): Promise<Held>;
  /** What it had open before the first case: what leaks a little each minute adds up. */
  readonly descriptorsAtStart: number;
  /** How long the service's loop has been ready to run and had no processor, in all; milliseconds. */
  starvedMs(): number;
}

/** What the process holds. */
export interface Held {
  readonly connections: number;
  readonly descriptors: number;
  readonly residentBytes: number;
}

const answerMs = 1500;
const quietMs = 40;
const deviceCount = 4;

export async function openTarget(dataDir: string): Promise<Target> {
  const service = await startService(dataDir, { WS_PORT: "0" });
  const { pid } = JSON.parse(await readFile(join(dataDir, "service.json"), "utf8")) as { pid: number };
  const descriptors = async () => (await readdir(`/proc/${pid}/fd`)).length;
  const document = (await service.call("GET", "/openapi.json")).body as never;
  let tenants = 0;
  let key = "";
  const authorized = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${service.addresses.http}/api/v1/${path}`, {
      method,
      headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      body: (await response.json().catch(() => ({}))) as Record<string, unknown>,
    };
  };
  const devices = Array.from({ length: deviceCount }, (_, i) => ({
    username: `fuzz-${i + 1}`,
    password: "correct-horse-battery",
  }));

  async function enter(): Promise<void> {
    const name = `fuzz ${++tenants}`;
    const { username, password } = await service.make("/api/v1/tenants", {
      tenantName: name,
      username: name,
    });
    const login = await authorized("POST", "login", { username, password });
    key = String(login.body.token);
    const made = await authorized("POST", "api_keys", { role: "admin" });
    assert.is(made.status, 201, JSON.stringify(made.body));
    key = `${made.body.appID}:${made.body.appSecret}`;
  }
  async function makeDevices(): Promise<void> {
    const product = (
      await authorized("POST", "products", { productName: `p${Math.random()}`, cloudProtocol: 1 })
    ).body;
    const point = { dataPointName: "temp", dataPointID: "temp", pointDataType: 1, dataTransType: 1 };
    await authorized("POST", "data_points", { ...point, productIntID: product.id });
    for (const { username, password } of devices) {
      await authorized("POST", "devices", {
        productID: product.productID,
        cloudProtocol: 1,
        deviceName: username,
        deviceID: username,
        deviceType: 1,
        upLinkSystem: 1,
        authType: 1,
        deviceUsername: username,
        token: password,
      });
    }
  }
  async function refresh(): Promise<void> {
    if ((await authorized("GET", "me")).status !== 200) await enter();
    const { body } = await authorized("GET", "devices?deviceID_like=fuzz-&_limit=100");
    if (Number((body.meta as { count?: number } | undefined)?.count ?? 0) < deviceCount) await makeDevices();
  }

  await enter();
  await refresh();
  return {
    service,
    known: {
      reference: operationsOf(document),
      get authorization() {
        return `Bearer ${key}`;
      },
      devices,
    },
    send: (one) => send(service.addresses[one.listener] ?? "", one),
    refresh,
    held: async () => ({
      connections: await service.metric("tidemark_connections "),
      descriptors: await descriptors(),
      residentBytes: await residentBytes(pid),
    }),
    descriptorsAtStart: await descriptors(),
    starvedMs: () => Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[1]) / 1e6,
  };
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

async function send(address: string, { listener, writes, brokenOff }: Case): Promise<number[]> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  let heardAt = Number.POSITIVE_INFINITY;
  let closed = false;
  socket
    .on("error", () => undefined)
    .on("close", () => {
      closed = true;
    })
    .on("data", (chunk) => {
      chunks.push(chunk);
      heardAt = performance.now();
    });
  for (const bytes of writes) {
    socket.write(bytes);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  if (brokenOff) socket.resetAndDestroy();
  else if (listener !== "http") socket.end();
  const quiet = () => closed || performance.now() - heardAt > quietMs;
  await until(quiet, { what: "an answer", timeoutMs: answerMs }).catch(() => undefined);
  socket.destroy();
  if (listener !== "http") return [];
  const text = Buffer.concat(chunks).toString("latin1");
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
