/** Answers of long texts are bounded by bytes; exports have all of them. */
import { answerTexts } from "../../src/routes/data-answers.js";
import { textBytes } from "../../store/lib/text-bytes.js";
import { makeDataPoint, makeDevice, makeProduct } from "../factories.js";
import { assert } from "../suite.js";
import { worldSuite } from "../world.js";
import { exportedText } from "./history.js";

const count = 120;
const text = "x".repeat(60_000);
const note = (n: number) => `${n} ${text}`;
const series = 3;

worldSuite("data of long texts", (test, world) => {
  test("the newest are answered as far as the bytes go, and the export has all", async () => {
    const product = await makeProduct(world);
    const points = [];
    for (let n = 0; n < series; n++) {
      points.push(await makeDataPoint(world, product, { dataPointID: `note${n}`, pointDataType: 3 }));
    }
    const device = await makeDevice(world, product);
    const begin = Date.UTC(2024, 5, 1);
    await world.publish(
      device,
      ...Array.from({ length: count }, (_, n) => ({ time: begin / 1000 + n, note1: note(n) })),
    );
    await world.publish(device, { time: begin / 1000, note0: "short" });
    const data = (query: string) =>
      world.call("GET", `/api/v1/original_data?deviceID=${device.deviceID}&${query}`);
    const range = "startTime=2024-05-01T00:00:00Z&timeFormat=ms";
    const part = answerTexts.partsBytes / series;
    const fitting = Math.ceil(part / textBytes(note(10)));
    assert.ok(fitting < count, "the test sends more than fits");
    const all = await data(range);
    assert.equal([all.status, all.headers.get("truncated")], [200, "true"]);
    type Columns = { time: number[]; value: string[] };
    const [first, long, none] = all.list.map((item) => item.originalData as Columns);
    assert.equal([first?.value, none?.value], [["short"], []]);
    const expected = Array.from({ length: count }, (_, n) => n).slice(-(long?.time.length ?? 0));
    assert.ok(Math.abs((long?.time.length ?? 0) - fitting) <= 1, `${long?.time.length} of ${fitting}`);
    assert.equal(
      long?.time,
      expected.map((n) => begin + n * 1000),
    );
    assert.equal(long?.value, expected.map(note));
    const few = await data(`${range}&endTime=2024-06-01T00:00:30Z`);
    assert.is(few.headers.get("truncated"), null, "what fits is whole");
    const csv = await exportedText(world, `deviceID=${device.deviceID}`);
    const rows = csv.split("\r\n").filter((line) => line.includes(",note1,"));
    assert.equal(
      // in quotation marks
      rows.map((line) => line.split(",")[3]?.length),
      Array.from({ length: count }, (_, n) => note(n).length + 2),
    );
  });
});
