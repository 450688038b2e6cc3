import type { FleetOfDevices } from "../load/fleet.js";
import { makeFleet } from "./as-device.js";
import { type Attack, createSockets, mqttConnect, pause, type Target, within } from "./attack.js";

const sockets = createSockets();
const release = (): void => sockets.closeAll();
let fleet: FleetOfDevices | undefined;
let groupIntID = 0;

const some = async (count: number, step: (n: number) => Promise<unknown>): Promise<void> => {
  await Promise.all(Array.from({ length: count }, (_, n) => step(n)));
};

async function ask(
  target: Target,
  method: string,
  path: string,
  body?: unknown,
  type?: string,
): Promise<void> {
  await within(target, target.api.call(method, path, body, type));
}

/** Requests on sockets of their own that read nothing. */
async function askUnread(
  target: Target,
  count: number,
  path: string,
  headers: readonly string[] = [],
  method = "GET",
): Promise<void> {
  const lines = ["Host: tidemark", `Authorization: ${target.authorization}`, ...headers, "\r\n"];
  await some(count, async () => {
    const socket = await sockets.connect(target.httpPort);
    socket?.write([`${method} ${path} HTTP/1.1`, ...lines].join("\r\n"));
  });
}

async function publishMany(target: Target, count: number, payload: (n: number) => string): Promise<void> {
  const device = fleet?.devices[0];
  if (device === undefined) throw new Error("cannot attack: there is no device");
  const client = await mqttConnect(target, sockets, device);
  for (let n = 0; n < count; n++) {
    client?.send({
      cmd: "publish",
      topic: "telemetry",
      payload: payload(n),
      qos: 1,
      dup: false,
      retain: false,
      messageId: 1 + (n % 60_000),
    } as never);
    if (n % 20 === 19 || n === count - 1) {
      const waited = n % 20 === 19 ? 20 : count % 20;
      for (let i = 0; i < waited; i++) await client?.next("puback");
    }
  }
  client?.socket.end();
}

const withFleet = (count: number) => async (target: Target) => {
  fleet = await makeFleet(target, count);
};

const doubled = (times: number): string =>
  `{% capture s %}0123456789abcdef{% endcapture %}${"{% capture s %}{{ s }}{{ s }}{% endcapture %}".repeat(times)}`;
const loop = (variable: string, inner: string): string =>
  `{% for ${variable} in (1..9999) %}${inner}{% endfor %}`;

/** Templates that once ended the process, that end by their steps, and that are ended with their thread. */
const templateBombs = [
  `${doubled(24)}{{ s | replace: "0", "00" | size }}`,
  loop("a", loop("b", loop("c", "{% assign x = a %}"))),
  `${doubled(16)}{% capture t %}{{ s | slice: 0, 500000 }}x{% endcapture %}{{ s | split: t | size }}`,
];

/** These are users of a tenant of their own. */
export const asUser: readonly Attack[] = [
  {
    name: "long digits",
    what: "POST /products with a cloudProtocol of 120,000 digits and a letter",
    run: (target) =>
      ask(target, "POST", "/api/v1/products", { productName: "p", cloudProtocol: `${"1".repeat(120_000)}x` }),
  },
  {
    name: "long pattern",
    what: "description_like of 2,000 characters over 3,000 descriptions of 2,000",
    prepare: async (target) => {
      const { productIntID } = await makeFleet(target, 1);
      for (let at = 0; at < 3_000; at += 30) {
        await some(30, (i) =>
          target.api.call("POST", "/api/v1/product_resources", {
            productIntID,
            resourceName: `r${at + i}`,
            description: "ab".repeat(1_000),
          }),
        );
      }
      const products = Array.from({ length: 300 }, (_, n) => n);
      for (const n of products) {
        await target.api.call("POST", "/api/v1/products", {
          productName: `long ${n}`,
          cloudProtocol: 1,
          description: "ab".repeat(1_000),
        });
      }
    },
    run: async (target) => {
      const pattern = encodeURIComponent(`${"ab".repeat(999)}ac`);
      await some(8, () => ask(target, "GET", `/api/v1/products?description_like=${pattern}`));
    },
  },
  {
    name: "many parts",
    what: "a form of a million parts",
    run: async (target) => {
      const part = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n';
      const body = Buffer.concat([Buffer.from(part.repeat(1_000_000)), Buffer.from("--b--\r\n")]);
      await ask(target, "POST", "/api/v1/devices_import", body, "multipart/form-data; boundary=b");
    },
  },
  {
    name: "long formula",
    what: "metrics_data of 40,000 points through floor(dataPoint,15) 33 times",
    prepare: async (target) => {
      fleet = await makeFleet(target, 1);
      const base = Date.now() - 40_000_000;
      await publishMany(target, 40, (n) =>
        JSON.stringify(
          Array.from({ length: 1_000 }, (_, i) => ({ time: base + (n * 1_000 + i) * 1_000, temp: i / 7 })),
        ),
      );
      await target.service.stored();
      const formula = Array.from({ length: 33 }, () => "floor(dataPoint,15)").join("+");
      await target.api.call("POST", "/api/v1/metrics", {
        metricName: "slow",
        metricType: 1,
        dataPointIntID: fleet.dataPointIntIDs[0],
        expressions: formula,
      });
    },
    run: async (target) => {
      const device = fleet?.devices[0]?.deviceID ?? "";
      const range = "startTime=2000-01-01%2000:00:00";
      await some(4, () =>
        ask(target, "GET", `/api/v1/metrics_data?deviceID=${device}&metricType=1&${range}`),
      );
    },
    release,
  },
  {
    name: "large pages",
    what: "pages of 300 events of 250 KB, six at once and again",
    prepare: async (target) => {
      fleet = await makeFleet(target, 1);
      await publishMany(target, 300, (n) => JSON.stringify({ n, text: "x".repeat(250_000) }));
    },
    run: async (target) => {
      for (let n = 0; n < 2; n++) await some(6, () => ask(target, "GET", "/api/v1/device_events?_limit=300"));
    },
    release,
  },
  {
    name: "unread feeds",
    what: "100 live feeds of one device that nobody reads, then 40 messages of 250 KB",
    prepare: withFleet(1),
    run: async (target) => {
      const device = fleet?.devices[0];
      await askUnread(target, 100, `/api/v1/devices/${device?.id}/live`);
      await pause(1_000);
      await within(
        target,
        publishMany(target, 40, (n) => JSON.stringify({ temp: n, text: "x".repeat(250_000) })),
      );
      await pause(3_000);
    },
    release,
  },
  {
    name: "group commands",
    what: "nine commands of 256 KiB to a group of 1,000 that are away",
    prepare: async (target) => {
      fleet = await makeFleet(target, 1_000);
      const group = await target.api.post<{ id: number }>("/api/v1/groups", {
        groupName: "all",
        productID: fleet.productID,
      });
      await target.api.call("POST", `/api/v1/groups/${group.id}/devices`, {
        devicesIntID: fleet.devices.map(({ id }) => id),
      });
      groupIntID = group.id;
    },
    run: async (target) => {
      const payload = "x".repeat(256 * 1024 - 100);
      for (let n = 0; n < 9; n++)
        await ask(target, "POST", "/api/v1/group_publish", { groupIntID, topic: "inbox", payload, qos: 1 });
      await pause(5_000);
    },
  },
  {
    name: "edits and CONNECTs",
    what: "one client edits a device as fast as it can",
    prepare: withFleet(1),
    run: async (target) => {
      const device = fleet?.devices[0];
      let n = 0;
      while (performance.now() < target.until - 10_000) {
        await target.api.call("PUT", `/api/v1/devices/${device?.id}`, { description: `edit ${n++}` });
      }
    },
  },
  {
    name: "unread exports",
    what: "eight exports that nobody reads, eight HEADs of them",
    prepare: withFleet(200),
    run: async (target) => {
      const path = `/api/v1/original_data?deviceID=${fleet?.devices[0]?.deviceID}`;
      const headers = ["Accept: text/csv"];
      await askUnread(target, 8, path, headers);
      await askUnread(target, 8, path, headers, "HEAD");
      await some(8, () => ask(target, "GET", "/api/v1/devices_export"));
      await pause(3_000);
    },
    release,
  },
  {
    name: "template bombs",
    what: "previews of templates, six at once, that double a text, loop or search without end",
    run: (target) =>
      within(
        target,
        some(6, async (n) => {
          const body = { type: "webhook", bodyTemplate: templateBombs[n % templateBombs.length] };
          while (performance.now() < target.until - 10_000) {
            await target.api.call("POST", "/api/v1/contact_points/preview", body);
          }
        }),
      ),
  },
  {
    name: "logout again",
    what: "POST /logout a thousand times, eight at once",
    run: (target) =>
      within(
        target,
        some(8, async () => {
          for (let n = 0; n < 125; n++) await target.api.call("POST", "/api/v1/logout", {});
        }),
      ),
  },
];
