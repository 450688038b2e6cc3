import { makeDataPoint, makeDevice, makeProduct, makeStream, unique } from "../factories.js";
import { assert } from "../suite.js";
import { type CallOptions, type Rec, refused, worldSuite } from "../world.js";

const b: CallOptions = { headers: { "Api-Variant": "B" } };
const names = [
  ...["cloudProtocol", "gatewayProtocol", "upLinkProtocol", "authType", "deviceStatus", "connectStatus"],
  ...["deviceType", "carrier", "physicalNetwork", "upLinkNetwork", "publishStatus", "pointDataType"],
  ...["dataTransType", "streamType", "streamDataType", "metricType", "aggregateType", "aggregateData"],
  ...["chartType", "alertSeverity", "templateType", "scheduleType", "codeValue", "access", "allow"],
  ...["scopeType", "lora.region", "lora.fcntCheck"],
];
type Dict = Readonly<Record<string, readonly { label: string; value: unknown }[]>>;

worldSuite("selection helpers", (test, world) => {
  const select = async (query: string, options?: CallOptions) => {
    const reply = await world.call("GET", `/api/v1/platform_select/${query}`, undefined, options);
    assert.is(reply.status, 200, reply.text);
    return reply.list as readonly object[];
  };
  const dict = async (options?: CallOptions) =>
    (await world.call("GET", "/api/v1/platform_select/dict_code", undefined, options))
      .record as object as Dict;

  test("dict_code has every name with its labels and values", async () => {
    const found = await dict();
    for (const name of names) assert.ok((found[name]?.length ?? 0) > 0, name);
    for (const [name, entries] of Object.entries(found)) {
      const type = ["codeValue", "lora.region"].includes(name) ? "string" : "number";
      for (const entry of entries) {
        assert.equal([Object.keys(entry).sort(), typeof entry.value], [["label", "value"], type], name);
      }
    }
    const { deviceType = [], codeValue = [], connectStatus = [], pointDataType = [] } = found;
    assert.equal(deviceType, [
      { label: "终端", value: 1 },
      { label: "智能手机", value: 3 },
    ]);
    assert.equal(codeValue[0], { label: "序列号", value: "serialNumber" });
    assert.equal(connectStatus[2], { label: "认证失败", value: 2 });
    assert.is(pointDataType.length, 19);
    assert.is(found.status, undefined);
  });

  test("dict_code follows the variant where the codes differ", async () => {
    const found = await dict(b);
    assert.equal(found.deviceType, [
      { label: "终端", value: 0 },
      { label: "网关", value: 1 },
      { label: "智能手机", value: 2 },
    ]);
    assert.is(found.status?.length, 2);
    const { deviceType: _a, status: _b, ...same } = found;
    const { deviceType: _c, ...others } = await dict();
    assert.equal(same, others);
  });

  test("products by productID", async () => {
    const productName = unique("选 Product");
    const { id, productID } = await makeProduct(world, { productName, cloudProtocol: 7 });
    const item = { label: productName, value: productID, attr: { cloudProtocol: 7, productIntID: id } };
    assert.equal(await select(`products?productName_like=${productName.toUpperCase()}`), [item]);
    assert.equal((await select("products?_limit=1"))[0], item);
    assert.equal(await select("products?cloudProtocol=7", b), [item]);
    assert.equal(await select("products?productName_like=none"), []);
  });

  test("devices by deviceID; Variant B has gateways too", async () => {
    const product = await makeProduct(world);
    const { id, deviceID, deviceName } = await makeDevice(world, product);
    const body = { gatewayName: unique("Gateway"), productID: product.productID, gatewayProtocol: 1 };
    const gateway = await world.make("/api/v1/gateways", { ...body, upLinkNetwork: 4 });
    const device = { label: deviceName, value: deviceID, attr: { deviceIntID: id } };
    const of = `devices?productID=${product.productID}`;
    assert.equal(await select(of), [device]);
    assert.equal(await select(of, b), [
      { label: body.gatewayName, value: gateway.deviceID, attr: { deviceIntID: gateway.id } },
      device,
    ]);
    assert.equal(await select(`${of}&deviceName_like=${deviceName}`), [device]);
    assert.equal(await select(`devices?productIntID=${product.id}&deviceName_like=none`), []);
  });

  async function pointsAndStreams() {
    const product = await makeProduct(world);
    const choices = [{ value: 1, label: "开" }];
    const number = await makeDataPoint(world, product, { enum: choices, dataTransType: 3 });
    const binary = await makeDataPoint(world, product, { pointDataType: 11 });
    const on = await makeDataPoint(world, product, { pointDataType: 5 });
    const up = await makeStream(world, product, { dataPoints: [on.id, number.id] });
    const down = await makeStream(world, product, { streamType: 2, streamDataType: 2 });
    return { product, number, binary, on, up, down, choices };
  }
  const byID = ({ id, dataPointName }: Rec) => ({ label: dataPointName, value: id });

  test("data_points by id; of a stream alone by dataPointID; with intID by id and what they are", async () => {
    const { product, number, binary, on, up, choices } = await pointsAndStreams();
    const of = `data_points?productIntID=${product.id}`;
    const all = [on, binary, number];
    assert.equal(await select(of), all.map(byID));
    assert.equal(await select(`data_points?productID=${product.productID}`), all.map(byID));
    assert.equal(await select(`${of}&streamDataType=1`), all.map(byID));
    assert.equal(await select(`${of}&streamDataType=2`), [byID(binary)]);
    assert.equal(await select(`${of}&_limit=1`), [byID(on)]);
    assert.equal(await select(`${of}&dataPointName_like=${number.dataPointName}`), [byID(number)]);
    const stream = `data_points?dataStreamIntID=${up.id}`;
    const byText = [on, number].map((point) => ({ label: point.dataPointName, value: point.dataPointID }));
    assert.equal(await select(stream), byText);
    assert.equal(await select(`${stream}&intID=false`), byText);
    assert.equal(await select(`${stream}&productIntID=${product.id}`), [on, number].map(byID));
    assert.equal(await select(`${stream}&intID=true`), [
      { ...byID(on), attr: { dataTransType: 1, enum: null, pointDataType: 5 } },
      { ...byID(number), attr: { dataTransType: 3, enum: choices, pointDataType: 1 } },
    ]);
  });

  test("data_streams of a product or of a device's; metric_data_points are numbers", async () => {
    const { product, number, up, down } = await pointsAndStreams();
    const device = await makeDevice(world, product);
    const all = [down, up].map(({ id, streamName }) => ({ label: streamName, value: id }));
    for (const of of [
      `productIntID=${product.id}`,
      `productID=${product.productID}`,
      `deviceIntID=${device.id}`,
    ]) {
      assert.equal(await select(`data_streams?${of}`), all);
      assert.equal(await select(`data_streams?${of}&streamType=1`), all.slice(1));
      assert.equal(await select(`data_streams?${of}&streamName_like=${down.streamName}`), all.slice(0, 1));
      assert.equal(await select(`metric_data_points?${of}`), [byID(number)]);
    }
    assert.equal(await select(`metric_data_points?productIntID=${product.id}&dataPointName_like=none`), []);
  });

  test("parameters of a wrong type are refused by name, empty ones are none", async () => {
    const wrong: Readonly<Record<string, readonly string[]>> = {
      products: ["_limit=0", "_limit=1001", "_limit=x", "cloudProtocol=MQTT"],
      devices: ["productIntID=x", "_limit=-1"],
      data_points: [
        "productIntID=1.5",
        "streamDataType=JSON",
        "dataStreamIntID=x",
        "intID=maybe",
        "_limit=x",
      ],
      data_streams: ["productIntID=x", "deviceIntID=x", "streamType=up", "_limit=x"],
      metric_data_points: ["productIntID=x", "_limit=1e3"],
    };
    for (const [name, queries] of Object.entries(wrong)) {
      for (const query of queries) {
        const reply = await world.call("GET", `/api/v1/platform_select/${name}?${query}`);
        refused(reply, "PARAMETER_INVALID", query.split("=")[0] ?? "");
      }
      const any = await select(`${name}?_limit=&productIntID=&intID=&unknown=1`);
      assert.ok(any.length > 0);
      assert.is(
        (await world.call("GET", `/api/v1/platform_select/${name}?productID=%F0%9F%A6%89'--`)).status,
        200,
      );
    }
  });

  test("a tenant chooses from its own; nobody without a key", async () => {
    const { product, up } = await pointsAndStreams();
    const device = await makeDevice(world, product);
    const key = await world.otherTenant();
    for (const query of [
      "products",
      `devices?productIntID=${product.id}`,
      `data_points?dataStreamIntID=${up.id}`,
      `data_streams?deviceIntID=${device.id}`,
      "metric_data_points",
    ]) {
      assert.equal(await select(query, { key }), [], query);
    }
    for (const name of ["products", "dict_code"]) {
      const reply = await world.call("GET", `/api/v1/platform_select/${name}`, undefined, { key: null });
      refused(reply, "AUTH_FAILED", "token");
      assert.is((await select(name, { key: await world.keyOf("viewer") })) === undefined, false);
    }
  });

  test("labels are in English where that is asked for, with the same names and codes", async () => {
    const path = "/api/v1/platform_select/dict_code";
    type Dictionary = Record<string, { label: string; value: unknown }[]>;
    for (const variant of ["A", "B"]) {
      const ask = async (language: string) => {
        const headers = { "Label-Language": language, "Api-Variant": variant };
        return world.call("GET", path, undefined, { headers });
      };
      const [chinese, english] = [await ask("zh"), await ask("en")];
      assert.is(english.headers.get("label-language"), "en");
      const codesOf = ({ text }: { text: string }) =>
        Object.entries(JSON.parse(text) as Dictionary).map(([name, all]) => [
          name,
          all.map(({ value }) => value).sort(),
        ]);
      assert.equal(codesOf(english).sort(), codesOf(chinese).sort());
      assert.not.match(english.text, /[\u4e00-\u9fff]/);
      assert.match(chinese.text, "在线");
      refused(await ask("fr"), "PARAMETER_INVALID", "Label-Language");
    }
  });
});
