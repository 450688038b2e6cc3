import {
  deviceBody,
  gatewayBody,
  makeDevice,
  makeGateway,
  makeProduct,
  modbus,
  unique,
} from "../factories.js";
import { assert } from "../suite.js";
import { type Rec, type Reply, refused, worldSuite } from "../world.js";

const path = "/api/v1/devices";

/** What requests at once may not break: siblings, links, the chain of parents. */
worldSuite("devices, two requests at once", (test, world) => {
  const codes = (replies: readonly Reply[]) => replies.map(({ status }) => status).sort();
  const times = <T>(n: number, make: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));

  test("exactly one of parallel creates with one modBusIndex below one parent wins", async () => {
    const bus = await makeProduct(world, { cloudProtocol: modbus });
    const gateway = await makeGateway(world, bus);
    const parent = await makeDevice(world, bus, { modBusIndex: 200 });
    const places = [
      { upLinkSystem: 1 },
      { upLinkSystem: 2, gateway: gateway.id },
      { upLinkSystem: 3, parentDevice: parent.id },
    ];
    for (const place of places) {
      const sent = () => deviceBody(bus, { ...place, modBusIndex: 7 });
      const replies = await Promise.all(times(6, () => world.call("POST", path, sent())));
      assert.equal(codes(replies), [201, 400, 400, 400, 400, 400], JSON.stringify(place));
      for (const reply of replies) if (reply.status === 400) refused(reply, "DATA_EXISTED", "modBusIndex");
    }
  });

  test("siblings below a gateway share it over products; of parallel edits to one index one wins", async () => {
    const [one, other] = [
      await makeProduct(world, { cloudProtocol: modbus }),
      await makeProduct(world, { cloudProtocol: modbus }),
    ];
    const gateway = await makeGateway(world, one);
    const below = (modBusIndex: number) => ({ upLinkSystem: 2, gateway: gateway.id, modBusIndex });
    const made = await Promise.all(times(4, (i) => makeDevice(world, i % 2 ? one : other, below(i))));
    const replies = await Promise.all(
      made.map(({ id }) => world.call("PUT", `${path}/${id}`, { modBusIndex: 99 })),
    );
    assert.equal(codes(replies), [200, 400, 400, 400]);
    const cloud = await makeDevice(world, one, { modBusIndex: 99 });
    const moved = await world.call("PUT", `${path}/${cloud.id}`, { upLinkSystem: 2, gateway: gateway.id });
    refused(moved, "DATA_EXISTED", "modBusIndex");
  });

  test("a device created while its gateway, parent or product goes is refused by name, or holds it", async () => {
    const rounds = times(12, async () => {
      const product = await makeProduct(world);
      const gateway = await makeGateway(world, product);
      const parent = await makeDevice(world, product);
      const bare = await makeProduct(world);
      const races = [
        ["gateway", `/api/v1/gateways?ids=${gateway.id}`, { upLinkSystem: 2, gateway: gateway.id }, product],
        ["parentDevice", `${path}?ids=${parent.id}`, { upLinkSystem: 3, parentDevice: parent.id }, product],
        ["productID", `/api/v1/products?ids=${bare.id}`, {}, bare],
      ] as const;
      await Promise.all(races.map(([field, url, link, owner]) => race(field, url, deviceBody(owner, link))));
    });
    await Promise.all(rounds);
  });

  async function race(field: string, url: string, body: object): Promise<void> {
    const [created, removed] = await Promise.all([world.call("POST", path, body), world.call("DELETE", url)]);
    if (removed.status === 204) return refused(created, "PARAMETER_INVALID", field);
    refused(removed, "REFERENCED_ERROR");
    assert.is(created.status, 201, created.text);
  }

  test("a gateway and a device of one deviceID: one wins", async () => {
    const product = await makeProduct(world);
    const deviceID = unique("both");
    const replies = await Promise.all([
      world.call("POST", path, deviceBody(product, { deviceID })),
      world.call("POST", "/api/v1/gateways", gatewayBody(product, { deviceID })),
    ]);
    assert.equal(codes(replies), [201, 400]);
    for (const reply of replies) if (reply.status === 400) refused(reply, "DATA_EXISTED", "deviceID");
  });

  test("parallel edits never close the chain of parents to a ring", async () => {
    const product = await makeProduct(world);
    for (let round = 0; round < 8; round++) {
      const ring = await Promise.all(times(3, () => makeDevice(world, product)));
      const replies = await Promise.all(
        ring.map(({ id }, i) => {
          const parentDevice = (ring[(i + 1) % ring.length] as Rec).id;
          return world.call("PUT", `${path}/${id}`, { upLinkSystem: 3, parentDevice });
        }),
      );
      const lost = replies.filter(({ status }) => status !== 200);
      assert.is(lost.length, 1);
      for (const reply of lost) refused(reply, "PARAMETER_INVALID", "parentDevice");
    }
  });
});
