/** Messages taken apart, tried, decoded again, and as they come, in a real browser. */
import { bytesOfHex, decodePayload, encodeBase64 } from "../../src/console/app/messages/payload.js";
import { makeDevice, unique } from "../factories.js";
import { assert, suite, until } from "../suite.js";
import type { Rec } from "../world.js";
import { consoleSuite } from "./browser.js";

suite("console: payloads", (test) => {
  test("bytes are those of the text, of base64, or of hexadecimal digits", () => {
    assert.equal([...decodePayload("hé")], [0x68, 0xc3, 0xa9]);
    assert.equal([...decodePayload("base64:QawAACk=")], [0x41, 0xac, 0, 0, 0x29]);
    assert.equal([...decodePayload("base64:!")], [...Buffer.from("base64:!")]);
    assert.equal([...(bytesOfHex("41 ac,00:0x00 29") ?? [])], [0x41, 0xac, 0, 0, 0x29]);
    for (const wrong of ["", "4", "zz", "41 a"]) assert.is(bytesOfHex(wrong), null, wrong);
    assert.is(encodeBase64(Uint8Array.of(0x41, 0xac, 0, 0, 0x29)), "QawAACk=");
  });
});

/** Keeps each text that the state of the list of messages has shown. */
const recorder = `
  window.seen = [];
  new MutationObserver(() => {
    const text = document.querySelector(".heard .status")?.textContent;
    if (text !== undefined && window.seen.at(-1) !== text) window.seen.push(text);
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
`;

consoleSuite("console: messages", (test, world, web) => {
  let product: Rec;
  let device: Rec;
  test.before(async () => {
    product = await world.make("/api/v1/products", { productName: unique("P"), cloudProtocol: 1 });
    const body = { productIntID: product.id, dataTransType: 1 };
    await world.make("/api/v1/data_points", {
      ...body,
      dataPointID: "temp",
      dataPointName: "Temperature",
      pointDataType: 1,
    });
    const probe = await world.make("/api/v1/data_points", {
      ...body,
      dataPointID: "probe",
      dataPointName: "Probe",
      pointDataType: 17,
    });
    const level = await world.make("/api/v1/data_points", {
      ...body,
      dataPointID: "level",
      dataPointName: "Level",
      pointDataType: 16,
      binarySize: 1,
    });
    await world.make("/api/v1/data_streams", {
      productIntID: product.id,
      streamName: "raw",
      streamType: 1,
      streamDataType: 2,
      topic: "raw",
      dataPoints: [probe.id, level.id],
    });
    device = await makeDevice(world, product, { deviceName: "House <i>1</i>" });
  });

  test("a binary message is coloured byte by byte, with the points of its fields", async () => {
    const client = await world.connect(device);
    await client.publishAsync("raw", Buffer.from([0x41, 0xac, 0, 0, 0x29]), { qos: 1 });
    await client.endAsync();
    await world.settled();
    const { page } = await web.openIn(`/devices/${device.id}?tab=messages`);
    await page.locator(".messages summary", { hasText: "base64:QawAACk=" }).click();
    await page.getByText("read as binary").waitFor();
    assert.equal(
      (await page.locator(".bytes .field-0").allInnerTexts()).map((text) => text.trim()),
      ["41", "ac", "00", "00"],
    );
    assert.equal(
      (await page.locator(".bytes .field-1").allInnerTexts()).map((text) => text.trim()),
      ["29"],
    );
    assert.equal(
      (await page.locator("table.points tbody tr").allInnerTexts()).map((row) => row.split("\t").slice(0, 2)),
      [
        ["probe", "21.5"],
        ["level", "41"],
      ],
    );
  });

  test("a refused key is shown with its reason; one click makes it a data point, and decoding again stores it", async () => {
    await world.publish(device, { temp: 20, humidity: 61 }, { temp: 21, humidity: 62 }, { temp: "hot" });
    const { page } = await web.openIn(`/devices/${device.id}?tab=messages`);
    await page.locator(".messages summary", { hasText: '"humidity":62' }).click();
    await page.getByText("is no data point of this product").waitFor();
    await page.getByRole("button", { name: "Make humidity a data point" }).click();
    await page.locator("table.points tbody tr", { hasText: "humidity" }).waitFor();
    await page.locator(".messages summary", { hasText: '"hot"' }).click();
    await page.locator(".refused code", { hasText: "number" }).waitFor();

    await page.getByText("Decode again").click();
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByText("2 points appear").waitFor();
    await page.getByText("1 refused: number").last().waitFor();
    const stored = () => world.call("GET", `/api/v1/original_data?deviceID=${device.deviceID}`);
    const valuesOf = async () =>
      (await stored()).list.find((item) => item.dataPointName === "humidity")?.originalData as {
        value: unknown[];
      };
    assert.equal((await valuesOf()).value, [], "a preview stores nothing");
    await page.getByRole("button", { name: "Store 2 points" }).click();
    await page.getByText("2 points have appeared.").waitFor();
    assert.equal((await valuesOf()).value, [61, 62]);
  });

  test("a payload is tried as text and as bytes, and nothing is stored", async () => {
    const { page } = await web.openIn(`/devices/${device.id}?tab=messages`);
    await page.getByText("Try a payload").click();
    const box = page.locator("details.try").first();
    await box.getByLabel("Topic").fill("climate");
    await box.getByLabel("Payload").fill('{"tmep": 21.5, "<script>alert(1)</script>": 1}');
    await box.getByRole("button", { name: "Try it" }).click();
    await box.getByText("is no data point of this product; there is temp.").waitFor();
    await box.locator("code", { hasText: "<script>alert(1)</script>" }).waitFor();
    assert.is(await page.locator("main script").count(), 0);
    await box.getByLabel("Written as").selectOption("hex");
    await box.getByRole("button", { name: "Try it" }).click();
    await box.getByText("These are no hexadecimal bytes.").waitFor();
    await box.getByLabel("Topic").fill("raw");
    await box.getByLabel("Payload").fill("41 ac 00 00 2a");
    await box.getByRole("button", { name: "Try it" }).click();
    await box.getByRole("cell", { name: "42", exact: true }).waitFor();
    const { page: events } = await world.call("GET", `/api/v1/devices/${device.id}/events?topic=climate`);
    assert.is(events.meta.count, 0);
  });

  test("history is filtered and paged; what comes meanwhile moves no page", async () => {
    const other = await makeDevice(world, product);
    await world.publish(other, ...Array.from({ length: 60 }, (_, i) => ({ temp: 1000 + i })));
    const { page } = await web.openIn(`/devices/${other.id}?tab=messages`);
    const rows = page.locator(".messages > li");
    await page.getByText('"temp":1059').waitFor();
    assert.is(await rows.count(), 50);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    await page.getByRole("button", { name: "Older messages" }).click();
    await page.getByText("Page 2 of 2, 60 in all").waitFor();
    assert.is(await rows.count(), 10);
    await world.publish(other, { temp: 5 });
    await page.reload();
    await page.getByText("Page 2 of 2, 60 in all").waitFor();
    await page.getByLabel("Payload").first().fill("1042");
    await until(async () => (await rows.count()) === 1, { what: "the filter" });
    assert.match(await rows.innerText(), '"temp":1042');
    assert.match(page.url(), "payload=1042");
  });

  test("nothing is called live before the stream that brings it is there", async () => {
    const { page } = await web.openIn(`/devices/${device.id}`);
    await page.getByText("live", { exact: true }).waitFor();
    await page.evaluate(recorder);
    await page.getByRole("link", { name: "Messages" }).first().click();
    await page.locator(".heard").getByText("live", { exact: true }).waitFor();
    const seen = () => page.evaluate<string[]>("window.seen");
    // The page may write it down after we have seen it.
    await until(async () => (await seen()).at(-1) === "live", { what: "the last word" });
    // The stream that had other topics may end again on a busy machine.
    assert.is((await seen())[0], "not live: trying again");
  });

  test("messages of all devices are shown as they come, filtered, paused, and taken apart", async () => {
    const { page } = await web.openIn("/messages");
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByText("Waiting for messages").waitFor();
    await world.publish(device, { temp: 1, nobody: 2 });
    const row = page.locator(".messages > li", { hasText: "House <i>1</i>" });
    await row.getByText("unknown nobody").waitFor();
    assert.is(await page.locator("main i").count(), 0);
    await row
      .locator("summary")
      .first()
      .click({ position: { x: 5, y: 12 } });
    await row.getByText('"nobody": 2').waitFor();
    await row.getByText("is no data point of this product").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await world.publish(device, { temp: 3 });
    await page.getByRole("button", { name: "Go on: 1 waiting" }).click();
    await until(async () => (await page.locator(".messages > li").count()) === 2, { what: "both messages" });
    await page.getByLabel("only with something refused").check();
    await until(async () => (await page.locator(".messages > li").count()) === 1, { what: "the filter" });
    await page.getByRole("link", { name: "History" }).click();
    await page.getByText('"nobody":2').waitFor();
  });

  test("a viewer sees what was refused, and no way to mend it", async () => {
    const user = { username: unique("viewing"), password: "correct horse battery" };
    await world.make("/api/v1/users", { ...user, role: "viewer" });
    await world.publish(device, { temp: 4, nothing: 2 });
    const { page } = await web.openIn(`/devices/${device.id}?tab=messages`, { user });
    await page.locator(".messages summary", { hasText: '"nothing":2' }).click();
    await page.getByText("is no data point of this product").waitFor();
    assert.is(await page.getByRole("button", { name: /^Make/ }).count(), 0);
    assert.is(await page.getByText("Decode again").count(), 0);
  });

  test("on a phone nothing scrolls sideways", async () => {
    const { page } = await web.openIn(`/devices/${device.id}?tab=messages`, {
      viewport: { width: 360, height: 740 },
      isMobile: true,
      hasTouch: true,
    });
    await page.locator(".messages summary", { hasText: "base64:" }).click();
    await page.getByText("read as binary").waitFor();
    await page.getByText("Decode again").click();
    assert.is(await page.evaluate<number>("document.documentElement.scrollWidth"), 360);
  });
});
