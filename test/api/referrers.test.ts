/** A deletion that others stand against names them: the first ten, and how many. */
import {
  makeAppTemplate,
  makeCert,
  makeDataPoint,
  makeDevice,
  makeGateway,
  makeGroup,
  makeMetric,
  makeProduct,
  makeProductResource,
  makeStream,
} from "../factories.js";
import { assert } from "../suite.js";
import { type Failure, type Rec, type World, worldSuite } from "../world.js";

const api = (path: string) => `/api/v1/${path}`;

async function refusal(world: World, path: string, ...ids: readonly Rec[]): Promise<Failure> {
  const reply = await world.call("DELETE", `${api(path)}?ids=${ids.map(({ id }) => id).join()}`);
  assert.is(reply.status, 400, reply.text);
  assert.is(reply.failure.errorCode, "REFERENCED_ERROR");
  return reply.failure;
}

const deviceText = ({ id, deviceName, deviceID }: Rec) => `${id} "${deviceName}" (deviceID ${deviceID})`;

worldSuite("records that others refer to", (test, world) => {
  test("a product: its devices, gateways and groups", async () => {
    const product = await makeProduct(world);
    const device = await makeDevice(world, product);
    const gateway = await makeGateway(world, product);
    const group = await makeGroup(world, product);
    const { message, errors } = await refusal(world, "products", product);
    const gatewayText = `${gateway.id} "${gateway.gatewayName}" (deviceID ${gateway.deviceID})`;
    assert.equal(errors, {
      devices: `1 device refers to it: ${deviceText(device)}`,
      gateways: `1 gateway refers to it: ${gatewayText}`,
      groups: `1 group refers to it: ${group.id} "${group.groupName}"`,
    });
    assert.is(
      message,
      `cannot delete product ${product.id}: 3 records refer to it: device ${deviceText(device)}, ` +
        `gateway ${gatewayText}, group ${group.id} "${group.groupName}"`,
    );
  });

  test("the first ten are named, all are counted, in the message and by list", async () => {
    const product = await makeProduct(world);
    const devices: Rec[] = [];
    for (let i = 0; i < 12; i++) devices.push(await makeDevice(world, product));
    await makeGroup(world, product);
    const free = await makeProduct(world);
    const { message, errors } = await refusal(world, "products", free, product);
    const ten = devices.slice(0, 10);
    assert.equal(errors, {
      devices: `12 devices refer to them: ${ten.map(deviceText).join(", ")}, and 2 more`,
      groups: "1 group refers to them",
    });
    const told = ten.map((device) => `device ${deviceText(device)}`).join(", ");
    assert.is(message, `cannot delete 2 products: 13 records refer to them: ${told}, and 3 more`);
    assert.is((await world.call("GET", `${api("products")}/${free.id}`)).status, 200);
  });

  test("a gateway: the devices below it; a device: its children, those that go with it left out", async () => {
    const product = await makeProduct(world);
    const gateway = await makeGateway(world, product);
    const parent = await makeDevice(world, product, { upLinkSystem: 2, gateway: gateway.id });
    const below = { upLinkSystem: 3, parentDevice: parent.id };
    const [one, other] = [await makeDevice(world, product, below), await makeDevice(world, product, below)];
    const of = await refusal(world, "gateways", gateway);
    assert.equal(of.errors, { devices: `1 device refers to it: ${deviceText(parent)}` });
    assert.is(
      of.message,
      `cannot delete gateway ${gateway.id}: 1 record refers to it: device ${deviceText(parent)}`,
    );
    const all = await refusal(world, "devices", parent);
    assert.equal(all.errors, { devices: `2 devices refer to it: ${deviceText(one)}, ${deviceText(other)}` });
    assert.equal((await refusal(world, "devices", parent, one)).errors, {
      devices: `1 device refers to them: ${deviceText(other)}`,
    });
    const ids = [parent, one, other].map(({ id }) => id).join();
    assert.is((await world.call("DELETE", `${api("devices")}?ids=${ids}`)).status, 204);
  });

  test("a data point: streams, metrics, resources, templates, alert rules; a stream: templates", async () => {
    const product = await makeProduct(world);
    const [point, free] = [await makeDataPoint(world, product), await makeDataPoint(world, product)];
    const stream = await makeStream(world, product, { dataPoints: [point.id] });
    const metric = await makeMetric(world, point);
    const named = { productID: product.productID };
    const resource = await makeProductResource(world, { ...point, ...named });
    const template = await makeAppTemplate(
      world,
      { ...free, ...named },
      {
        defaultValues: [{ id: point.id, value: "1" }],
        dataStreamIntID: stream.id,
      },
    );
    const rule = await world.make(api("alert_rules"), {
      alertName: "hot",
      alertContent: "hot",
      alertSeverity: 1,
      productID: product.productID,
      dataPointIntID: point.id,
      condition: "dataPoint > 1",
      duration: 0,
    });
    const listed = (it: string) => ({
      metrics: `1 metric refers to ${it}: ${metric.id} "${metric.metricName}"`,
      product_resources: `1 product resource refers to ${it}: ${resource.id} "serialNumber"`,
      app_templates: `1 app template refers to ${it}: ${template.id} "${template.templateName}"`,
      alert_rules: `1 alert rule refers to ${it}: ${rule.id} "hot"`,
    });
    const streams = { data_streams: `1 data stream refers to it: ${stream.id} "${stream.streamName}"` };
    assert.equal((await refusal(world, "data_points", point)).errors, { ...streams, ...listed("it") });
    const both = await refusal(world, "data_points", point, stream);
    assert.equal(both.errors, listed("them"));
    const what = `cannot delete data point ${point.id} and data stream ${stream.id}: 4 records refer to them: `;
    assert.ok(both.message.startsWith(what), both.message);
    assert.equal((await refusal(world, "data_streams", stream)).errors, {
      app_templates: listed("it").app_templates,
    });
  });

  test("a certificate: its devices; the last admin: no others, but the rule", async () => {
    const product = await makeProduct(world);
    const device = await makeDevice(world, product);
    const cert = await makeCert(world);
    await world.call("POST", `${api("devices")}/${device.id}/certs`, { ids: [cert.id] });
    const { message, errors } = await refusal(world, "certs", cert);
    assert.equal(errors, { devices: `1 device refers to it: ${deviceText(device)}` });
    assert.ok(message.startsWith(`cannot delete certificate ${cert.id}: `), message);
    const me = await world.call("GET", api("me"));
    const id = Number(me.record.userIntID);
    assert.is(
      (await refusal(world, "users", { id })).message,
      "cannot delete the user: the tenant must keep an admin",
    );
  });
});
