/** What the tests of published faults share: a service a family, and a neighbour that each of them leaves served. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { eventsOf } from "../ingest/support.js";
import { type Client, connected, publish } from "../ingest/transports/mqtt/raw-client.js";
import { assert, type Test, until } from "../suite.js";
import { type Rec, type World, worldSuite } from "../world.js";

/** Records that stand when a family's tests run. */
interface Scene {
  readonly product: Rec;
  /** A number that every device of the product reports, `temp`. */
  readonly point: Rec;
  /** Makes a device of the product that no other test has. */
  device(fields?: Readonly<Record<string, unknown>>): Promise<Rec>;
}

/**
 * A service for one family of peers. After each test a device of another tenant's standing, connected since the
 * beginning, gets its PUBACK and `/readyz` answers; at the end each of its messages is an event.
 */
export function publishedSuite(
  family: string,
  define: (test: Test, world: World, scene: Scene) => void,
  environment: Readonly<Record<string, string>> = {},
): void {
  worldSuite(
    `published faults: ${family}`,
    (test, world) => {
      let made: { readonly product: Rec; readonly point: Rec; readonly device: Rec } | undefined;
      let neighbour: Client | undefined;
      let published = 0;
      const standing = () => {
        if (made === undefined) throw new Error("the records are not made yet");
        return made;
      };
      test.before(async () => {
        const product = await makeProduct(world);
        const point = await makeDataPoint(world, product, { dataPointID: "temp" });
        const device = await makeDevice(world, product, { deviceName: "Neighbour" });
        made = { product, point, device };
        neighbour = await connected(world, device, 4, { clientId: "neighbour" });
      });
      test.after.each(async () => {
        const messageId = ++published;
        assert.ok(neighbour !== undefined && !neighbour.closed, "the neighbour has lost its connection");
        await publish(neighbour, "data", { payload: `{"temp":${messageId}}`, messageId });
        assert.is((await fetch(`${world.http}/readyz`)).status, 200);
      });
      define(test, world, {
        get product() {
          return standing().product;
        },
        get point() {
          return standing().point;
        },
        device: (fields) => makeDevice(world, standing().product, fields),
      });
      test("each message of the neighbour is an event", async () => {
        const events = await eventsOf(world, standing().device);
        assert.equal(
          events.map(({ payload }) => payload).reverse(),
          Array.from({ length: published }, (_, i) => `{"temp":${i + 1}}`),
        );
      });
    },
    environment,
  );
}

/** Bytes of the heap that are still reachable. */
export function heldBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

/** A sample of /metrics without labels, or with exactly these. */
async function sampleOf(world: World, name: string): Promise<number> {
  const { text } = await world.call("GET", "/metrics");
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  if (line === undefined) throw new Error(`/metrics has no ${name}`);
  return Number(line.slice(name.length + 1));
}

/** Resolves once no more than so many connections are open. */
export async function connectionsBack(world: World, most: number): Promise<void> {
  const open = () => sampleOf(world, "tidemark_connections");
  await until(async () => (await open()) <= most, { what: `${most} connections to be left` });
}
