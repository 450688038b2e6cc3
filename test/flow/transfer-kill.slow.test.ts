/** kill -9 in the middle of an import and of an export of the real process. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { csvOf, formOf, formType, type TaskStatus } from "../api/transfer.js";
import { assert, openTempDir, suite, until } from "../suite.js";
import { type RunningService, startService } from "./support.js";

const devices = 20_000;

suite("kill -9 in the middle of a transfer", (test) => {
  let dir: Awaited<ReturnType<typeof openTempDir>>;
  let service: RunningService;
  let productID = "";

  test.before(async () => {
    dir = await openTempDir();
    service = await startService(dir.path);
    const product = await service.make("/api/v1/products", { productName: "P", cloudProtocol: 1 });
    productID = String(product.productID);
  });
  test.after(async () => {
    await service.stop();
    await dir.close();
  });

  const fleet = () =>
    csvOf(
      Array.from({ length: devices }, (_, i) => ({
        deviceID: `d${i}`,
        deviceName: `n${i}`,
        deviceType: 1,
        upLinkSystem: 1,
        authType: 1,
        productID,
        cloudProtocol: 1,
      })),
    );
  async function address(): Promise<{ http: string; key: string }> {
    const read = async (name: string) =>
      JSON.parse(await readFile(join(dir.path, name), "utf8")) as { http: string; apiKey: string };
    return { http: (await read("service.json")).http, key: (await read("first-start.json")).apiKey };
  }
  async function upload(file: string): Promise<string> {
    const { http, key } = await address();
    const response = await fetch(`${http}/api/v1/devices_import`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}`, "Content-Type": formType },
      body: formOf(file),
    });
    return String(((await response.json()) as { statusUrl: string }).statusUrl);
  }
  const status = async (url: string) => (await service.call("GET", url)).body as unknown as TaskStatus;
  const reached = (url: string, state: RegExp) =>
    until(
      async () => {
        const found = await status(url);
        return state.test(found.state) ? found : undefined;
      },
      { what: `the task to be ${state}`, timeoutMs: 60_000 },
    );
  const count = async () => {
    const { body } = await service.call("GET", "/api/v1/devices?_limit=1");
    return (body.meta as { count: number }).count;
  };
  const files = () => readdir(join(dir.path, "tasks"));

  test("an import that is cut short has failed, stored nothing and left nothing; again, it is stored", async () => {
    const url = await upload(fleet());
    const { current } = await reached(url, /PROGRESS/);
    assert.ok(current > 0 && current < 100);
    await service.kill();
    service = await startService(dir.path);
    const end = await status(url);
    assert.is(end.state, "FAILURE");
    assert.match(String(end.msg), /restarted; nothing was stored/);
    assert.is(await count(), 0);
    assert.equal(await files(), []);
    assert.equal((await reached(await upload(fleet()), /SUCCESS|FAILURE/)).msg, {
      import_success_num: devices,
    });
    assert.is(await count(), devices);
    await until(async () => (await files()).length === 0, { what: "the upload to be removed" });
  });

  test("an export that is cut short is written anew", async () => {
    const { body } = await service.call("GET", "/api/v1/devices_export?format=csv");
    const url = String(body.statusUrl);
    await reached(url, /PROGRESS/);
    await service.kill();
    assert.is((await files()).length, 1);
    service = await startService(dir.path);
    const end = await reached(url, /SUCCESS|FAILURE/);
    assert.equal(end.msg, { export_success_num: devices });
    const { http } = await address();
    const text = await (await fetch(`${http}/api/v1/${end.excelPath}`)).text();
    assert.is(text.trim().split("\r\n").length, devices + 1);
    assert.is((await files()).length, 1);
  });
});
