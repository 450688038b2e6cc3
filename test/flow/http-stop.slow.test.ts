/** A stop in the midst of a request: what was kept of it stays, and the rest may come again. */
import { basicOf } from "../ingest/transports/http/support.js";
import { assert, suite, until, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";
import { payloadsOf, provision, type RunningService, startService } from "./support.js";

const linesEach = 3000;
/** Messages a second: the limit makes requests take some seconds. */
const limited = { DEVICE_MESSAGES_PER_SECOND: "250" };
const numbers = Array.from({ length: linesEach }, (_, n) => n);

function post({ addresses }: RunningService, device: Rec, path: string, body: string, headers = {}) {
  return fetch(addresses.http + path, {
    method: "POST",
    headers: { Authorization: basicOf(device), ...headers },
    body,
  });
}

suite("HTTP, stopped", (test) => {
  test("a batch and a write that a stop cuts off are 503, and the batch is whole once it is sent again", () =>
    withTempDir(async (dir) => {
      let service = await startService(dir, limited);
      const [batcher, writer] = (await provision(service, 2)) as [Rec, Rec];
      const batch = numbers.map((n) => `{"topic":"data","payload":{"n":${n}}}\n`).join("");
      const postBatch = () => post(service, batcher, "/api/v1/uplinks", batch, { "Batch-Id": "b" });
      const lines = numbers.map((n) => `data n=${n}i ${1_767_225_600 + n}`).join("\n");
      const underWay = [postBatch(), post(service, writer, "/api/v2/write?precision=s", lines)] as const;
      await until(async () => (await service.metric("tidemark_messages_total")) > 800, { what: "messages" });
      service.signal("SIGTERM");
      for (const cut of await Promise.all(underWay)) {
        assert.is(cut.status, 503, (await cut.text()).slice(-200));
        assert.ok(Number(cut.headers.get("retry-after")) > 0);
      }
      assert.is(await service.ended, 0);
      service = await startService(dir);
      assert.is((await postBatch()).status, 200);
      assert.equal(
        (await payloadsOf(service, batcher)).map((payload) => (JSON.parse(payload) as { n: number }).n),
        numbers,
      );
      await service.stop();
    }));
});
