/** kill -9 right after deletions and in the midst of the removal of points: it goes on, and takes no other's points. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openDb } from "../../store/metadata/db/db.js";
import { countRemovals } from "../../store/metadata/removals.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { type Reply, type RunningService, startService, valuesOf } from "./support.js";

const deleted = 400;
const kept = 20;
/** Points of a device: one a month, so that each removal goes through many files. */
const months = 12;
/** A kill may come too late to be in the midst; then there is another round, of other devices. */
const roundsMax = 5;
const asksInARow = 200;

suite("removals through kill -9", (test) => {
  test(
    "every deviceID comes free, no point is its successor's, and the others keep theirs",
    () =>
      withTempDir(async (dir) => {
        let service = await startService(dir);
        const product = await service.make("/api/v1/products", { productName: "p", cloudProtocol: 1 });
        await service.make("/api/v1/data_points", {
          dataPointName: "n",
          dataPointID: "n",
          productIntID: product.id,
          pointDataType: 1,
          dataTransType: 1,
        });
        let midst = false;
        for (let round = 0; round < roundsMax && !midst; round++) {
          const going = names(`going-${round}`, deleted);
          const staying = names(`staying-${round}`, kept);
          const made = await make(service, product, [...going, ...staying]);
          await importPoints(service, dir, [...going, ...staying]);
          const ids = made.slice(0, deleted).map(({ id }) => id);
          const reply = await service.call("DELETE", `/api/v1/devices?ids=${ids.join()}`);
          assert.is(reply.status, 204, reply.text);
          await service.kill();
          assert.is(await waiting(dir), deleted, "the kill came too late to be at once");

          service = await startService(dir);
          const removed = () => service.metric("tidemark_removals_total");
          // Asked without a pause: all of them take some tenths of a second.
          const begun = async () => {
            for (let i = 0; i < asksInARow; i++) if ((await removed()) > 0) return true;
            return false;
          };
          await until(begun, { what: "the first removals" });
          await service.kill();
          const left = await waiting(dir);
          midst = left > 0 && left < deleted;

          service = await startService(dir);
          const successors = await freed(service, product, going);
          for (const one of successors) assert.equal(await valuesOf(service, one), []);
          await importPoints(service, dir, going.slice(0, 10));
          // Nothing of the old removals is left to take what the successors have.
          await service.kill();
          assert.is(await waiting(dir), 0);
          service = await startService(dir);
          for (const one of [...successors.slice(0, 10), ...made.slice(deleted)]) {
            assert.is((await valuesOf(service, one)).length, months, String(one.deviceID));
          }
          for (const one of successors.slice(10)) assert.equal(await valuesOf(service, one), []);
        }
        assert.ok(midst, "no kill came in the midst of a removal");
        await service.stop();
      }),
    { timeoutMs: 300_000 },
  );
});

const names = (word: string, count: number) => Array.from({ length: count }, (_, i) => `${word}-${i}`);

/** Removals in the metadata of a service that does not run. */
async function waiting(dir: string): Promise<number> {
  const db = await openDb({ url: `file:${join(dir, "metadata.db")}`, shared: false, migrates: false });
  try {
    return await countRemovals(db);
  } finally {
    await db.close();
  }
}

function post(service: RunningService, product: Rec, deviceID: string): Promise<Reply> {
  return service.call("POST", "/api/v1/devices", {
    productID: product.productID,
    cloudProtocol: 1,
    deviceType: 1,
    upLinkSystem: 1,
    authType: 1,
    deviceName: deviceID,
    deviceID,
  });
}

async function make(service: RunningService, product: Rec, deviceIDs: readonly string[]): Promise<Rec[]> {
  const made: Rec[] = [];
  for (let at = 0; at < deviceIDs.length; at += 40) {
    const some = deviceIDs.slice(at, at + 40).map((deviceID) => post(service, product, deviceID));
    for (const reply of await Promise.all(some)) {
      assert.is(reply.status, 201, reply.text);
      made.push(reply.body);
    }
  }
  return made;
}

/** The successors of deleted devices; until a deviceID is free the error says why it is not. */
function freed(service: RunningService, product: Rec, deviceIDs: readonly string[]): Promise<Rec[]> {
  const one = (deviceID: string) =>
    until(
      async () => {
        const { status, body, text } = await post(service, product, deviceID);
        if (status === 201) return body;
        assert.is(body.errors.deviceID, "its points are being removed", text);
        return undefined;
      },
      { what: `${deviceID} to be free`, timeoutMs: 60_000 },
    );
  return deviceIDs.reduce<Promise<Rec[]>>(
    async (found, deviceID) => [...(await found), await one(deviceID)],
    Promise.resolve([]),
  );
}

async function importPoints(
  service: RunningService,
  dir: string,
  deviceIDs: readonly string[],
): Promise<void> {
  const rows = deviceIDs.flatMap((deviceID) =>
    Array.from(
      { length: months },
      (_, i) => `${deviceID},n,${new Date(Date.UTC(2024, i, 5)).toISOString()},${i}`,
    ),
  );
  const { apiKey } = JSON.parse(await readFile(join(dir, "first-start.json"), "utf8")) as { apiKey: string };
  const response = await fetch(`${service.addresses.http}/api/v1/original_data`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "text/csv" },
    body: ["deviceID,dataPointID,time,value", ...rows].join("\n"),
  });
  assert.is(response.status, 202);
  const { statusUrl } = (await response.json()) as { statusUrl: string };
  const task = await until(
    async () => {
      const { body } = await service.call("GET", `/api/v1${statusUrl}`);
      return body.state === "SUCCESS" || body.state === "FAILURE" ? body : undefined;
    },
    { what: "the import", timeoutMs: 60_000 },
  );
  assert.is(
    (task.msg as { import_success_num?: number }).import_success_num,
    rows.length,
    JSON.stringify(task),
  );
}
