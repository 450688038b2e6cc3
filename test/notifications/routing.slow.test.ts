import { makeDevice, makeGroup, unique } from "../factories.js";
import { assert, until } from "../suite.js";
import { type Rec, worldSuite } from "../world.js";
import { type Hook, openHook } from "./receivers.js";
import { logOf, makeAlerting, makeContact, makeHotProduct, makeRoute, type Told } from "./support.js";

worldSuite(
  "alerts find their routes",
  (test, world) => {
    let hook: Hook;
    test.before.each(async () => {
      hook = await openHook();
    });
    test.after.each(() => hook.close());

    const contactOf = () => makeContact(world, "webhook", { url: hook.url });
    const all = (): Told[] => hook.received.map(({ body }) => JSON.parse(body) as Told);
    const toldTimes = (count: number) =>
      until(() => hook.received.length >= count, { what: `${count} messages, of ${hook.received.length}` });
    /** Checks that nothing more comes: a later alert, which is sent at once, has arrived. */
    const nothingMore = async (count: number): Promise<void> => {
      const later = await openHook();
      const { device } = await makeAlerting(world, await makeContact(world, "webhook", { url: later.url }));
      await world.publish(device, { temp: 51 });
      await until(() => later.received.length === 1, { what: "an alert that is raised after the others" });
      await later.close();
      assert.is(hook.received.length, count);
    };

    test("by severity, product, group, device and name; a route that does not match says nothing", async () => {
      const contact = await contactOf();
      const { product, rule } = await makeHotProduct(world, { alertSeverity: 1 });
      const { product: other } = await makeHotProduct(world);
      const [device, second] = [await makeDevice(world, product), await makeDevice(world, product)];
      const group = await makeGroup(world, product);
      await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [device.id] });
      const matching = [
        { severities: [1, 4], productIntID: product.id },
        { productIntID: product.id, deviceIntID: device.id },
        { groupIntID: group.id },
        { alertName: rule.alertName },
      ];
      const others = [
        { severities: [2, 3, 4], productIntID: product.id },
        { productIntID: other.id },
        { deviceIntID: second.id },
        { groupIntID: group.id, alertName: "another" },
        { productIntID: product.id, enable: 0 },
      ];
      const names: unknown[] = [];
      for (const fields of matching) names.push((await makeRoute(world, contact, fields)).name);
      for (const fields of others) await makeRoute(world, contact, fields);
      await world.publish(device, { temp: 51 });
      await toldTimes(matching.length);
      await nothingMore(matching.length);
      const routes = (await logOf(world, contact)).map(({ routeName }) => routeName);
      assert.equal(routes.sort(), names.sort());
    });

    test("alerts of a group are one message, after its wait; those of other groups are others", async () => {
      const contact = await contactOf();
      const { product } = await makeHotProduct(world);
      const devices = await Promise.all([1, 2, 3].map(() => makeDevice(world, product)));
      await makeRoute(world, contact, { productIntID: product.id, wait: 60 });
      const apart = await makeContact(world, "webhook", { url: `${hook.url}/apart` });
      await makeRoute(world, apart, { productIntID: product.id, groupBy: ["device"], wait: 60 });
      for (const device of devices) await world.publish(device, { temp: 51 });
      await world.alertsSettled();
      await nothingMore(0);
      world.clock.pass(61_000);
      await toldTimes(4);
      const whole = hook.received
        .filter(({ path }) => path === "/")
        .map(({ body }) => JSON.parse(body) as Told);
      assert.equal(
        whole.map(({ began, alerts }) => [began, alerts.length]),
        [[3, 3]],
      );
      assert.is(hook.received.filter(({ path }) => path === "/apart").length, 3);
    });

    test("news within the interval waits for its end; alerts that go on are sent again", async () => {
      const contact = await contactOf();
      const { product } = await makeHotProduct(world);
      const [one, two] = [await makeDevice(world, product), await makeDevice(world, product)];
      await makeRoute(world, contact, { productIntID: product.id, groupInterval: 600, repeatInterval: 3600 });
      await world.publish(one, { temp: 51 });
      await toldTimes(1);
      await world.publish(two, { temp: 51 });
      await nothingMore(1);
      world.clock.pass(601_000);
      await toldTimes(2);
      assert.equal([all()[1]?.began, all()[1]?.firing], [1, 2]);
      world.clock.pass(3_601_000);
      await toldTimes(3);
      assert.equal([all()[2]?.kind, all()[2]?.began, all()[2]?.firing], ["repeat", 0, 2]);
      await world.publish(one, { temp: 1 });
      await world.publish(two, { temp: 1 });
      await world.alertsSettled();
      world.clock.pass(601_000);
      await toldTimes(4);
      assert.equal([all()[3]?.status, all()[3]?.ended], ["resolved", 2]);
      world.clock.pass(7_200_000);
      await nothingMore(4);
    });

    test("in a silence nothing is sent; alerts that still go on at its end are sent then", async () => {
      const contact = await contactOf();
      const { product, device } = await makeAlerting(world, contact);
      const short = await makeDevice(world, product);
      const at = (ms: number) =>
        new Date(world.clock.now() + ms).toISOString().slice(0, 19).replace("T", " ");
      const silence = await world.make("/api/v1/silences", {
        productIntID: product.id,
        endTime: at(3_600_000),
      });
      await world.publish(device, { temp: 51 });
      await world.alertsSettled();
      await nothingMore(0);
      // It comes to a group that has been processed, and is deferred.
      await world.publish(short, { temp: 51 });
      await world.alertsSettled();
      await nothingMore(0);
      await world.publish(short, { temp: 1 });
      await world.alertsSettled();
      const ended = await world.call("PUT", `/api/v1/silences/${silence.id}`, {
        startTime: at(-10_000),
        endTime: at(-5000),
      });
      assert.is(ended.status, 200, ended.text);
      world.clock.pass(61_000);
      await toldTimes(1);
      assert.equal(
        all()[0]?.alerts.map(({ deviceName }) => deviceName),
        [device.deviceName],
      );
    });

    test("while a route is muted it says nothing, and then what there is", async () => {
      const contact = await contactOf();
      const days = [1, 2, 3, 4, 5, 6, 7];
      const always = [{ days, from: "00:00", to: "00:00" }];
      const { device, route } = await makeAlerting(world, contact, { muteWindows: always });
      await world.publish(device, { temp: 51 });
      await world.alertsSettled();
      await nothingMore(0);
      await world.call("PUT", `/api/v1/alert_routes/${route.id}`, { muteWindows: [] });
      world.clock.pass(61_000);
      await toldTimes(1);
      assert.is(all()[0]?.firing, 1);
    });

    test("an alert that is cleared by hand, whose rule goes, or whose device goes has ended", async () => {
      const contact = await contactOf();
      const { product, device, rule } = await makeAlerting(world, contact, { groupBy: ["device"] });
      const [second, third] = [await makeDevice(world, product), await makeDevice(world, product)];
      for (const one of [device, second, third]) await world.publish(one, { temp: 51 });
      await toldTimes(3);
      const current = async (of: Rec) =>
        (await world.call("GET", `/api/v1/current_alerts?deviceIntID=${of.id}`)).page.items[0];
      await world.call("DELETE", `/api/v1/current_alerts?ids=${(await current(device))?.id}`);
      assert.is((await world.call("DELETE", `/api/v1/devices?ids=${second.id}`)).status, 204);
      world.clock.pass(11_000);
      await toldTimes(5);
      await world.call("DELETE", `/api/v1/alert_rules?ids=${rule.id}`);
      world.clock.pass(11_000);
      await toldTimes(6);
      const names = all()
        .slice(3)
        .map(({ status, alerts }) => `${status} ${alerts[0]?.deviceName}`);
      const expected = [device, second, third].map(({ deviceName }) => `resolved ${deviceName}`);
      assert.equal(names.sort(), expected.sort());
    });

    test("without sendResolved an end is not sent", async () => {
      const contact = await contactOf();
      const { device } = await makeAlerting(world, contact, { sendResolved: 0 });
      await world.publish(device, { temp: 51 });
      await toldTimes(1);
      await world.publish(device, { temp: 1 });
      await world.alertsSettled();
      world.clock.pass(11_000);
      await nothingMore(1);
    });

    test("one message lists twenty alerts and counts the rest", async () => {
      const contact = await contactOf();
      const { product } = await makeHotProduct(world);
      await makeRoute(world, contact, { productIntID: product.id, wait: 60 });
      const devices = await Promise.all(Array.from({ length: 25 }, () => makeDevice(world, product)));
      for (const device of devices) await world.publish(device, { temp: 51 });
      await world.alertsSettled();
      await nothingMore(0);
      world.clock.pass(61_000);
      await toldTimes(1);
      assert.equal([all()[0]?.alerts.length, all()[0]?.more, all()[0]?.began], [20, 5, 25]);
      assert.match(String(all()[0]?.subject), "(+24)");
    });

    test("an offline device is reported in the language of the contact point", async () => {
      const english = await contactOf();
      const chinese = await makeContact(world, "webhook", { url: `${hook.url}/zh` }, { language: "zh" });
      const { product } = await makeHotProduct(world);
      const device = await makeDevice(world, product);
      for (const contact of [english, chinese]) {
        await makeRoute(world, contact, { productIntID: product.id, name: unique("offline") });
      }
      const client = await world.connect(device);
      client.stream.destroy();
      client.end(true);
      await until(
        async () => {
          world.clock.pass(5000);
          return hook.received.length >= 2;
        },
        { what: "both messages" },
      );
      const by = (path: string) =>
        JSON.parse(hook.received.find((one) => one.path === path)?.body ?? "{}") as Told;
      assert.is(by("/").alerts[0]?.alertName, "Device offline");
      assert.is(by("/zh").alerts[0]?.alertName, "设备离线");
      assert.match(by("/zh").subject, "[告警]");
    });

    test("another tenant's alerts are sent to that tenant alone", async () => {
      const contact = await contactOf();
      await makeRoute(world, contact);
      const key = await world.otherTenant();
      const { product } = await (async () => {
        const made = await world.make(
          "/api/v1/products",
          { productName: unique("p"), cloudProtocol: 1 },
          { key },
        );
        const point = await world.make(
          "/api/v1/data_points",
          {
            dataPointName: "t",
            dataPointID: "temp",
            productIntID: made.id,
            pointDataType: 1,
            dataTransType: 1,
            upperLimit: 50,
          },
          { key },
        );
        return { product: made, point };
      })();
      const device = await world.make(
        "/api/v1/devices",
        {
          productID: product.productID,
          cloudProtocol: 1,
          deviceName: unique("d"),
          deviceID: unique("other"),
          deviceType: 1,
          upLinkSystem: 1,
          authType: 1,
        },
        { key },
      );
      await world.publish(device, { temp: 51 });
      await world.alertsSettled();
      const own = await makeAlerting(world, contact);
      await world.publish(own.device, { temp: 51 });
      // Once by each of the two routes of this tenant.
      await toldTimes(2);
      const names = all().flatMap(({ alerts }) => alerts.map(({ deviceName }) => deviceName));
      assert.equal(names, [own.device.deviceName, own.device.deviceName]);
    });
  },
  { NOTIFY_PRIVATE_ADDRESSES: "127.0.0.1" },
);
