/** Maps, in a real browser: devices in marks that are zoomed into, a device's place, its track and its areas. */
import type { Page } from "playwright-core";
import { mercatorY, unpacked } from "../../src/console/app/map/land.js";
import {
  boxAround,
  boxOfAll,
  formatBbox,
  parseMapView,
  viewText,
  withoutOverlap,
  withSpace,
} from "../../src/console/app/map/places.js";
import { arrowheads, measureTrack, nearest, onward } from "../../src/console/app/map/track.js";
import { landOutlines } from "../../src/console/land.js";
import { openTileServer } from "../api/tile-server.js";
import { groupBody, makeDevice, makeProduct, unique } from "../factories.js";
import { assert, suite, until } from "../suite.js";
import type { Rec, World } from "../world.js";
import { consoleSuite } from "./browser.js";

const tiles = await openTileServer();

suite("console: places and outlines", (test) => {
  test("what the build packs of the land is land where the earth has it, over both of its edges", async () => {
    for (const detail of ["coarse", "fine"] as const) {
      const outlines = unpacked(await landOutlines(detail));
      const isLand = (longitude: number, latitude: number): boolean => {
        const y = mercatorY(latitude);
        const turns = [-1, 0, 1].map((turn) => longitude / 360 + 0.5 + turn);
        return turns.some((x) => outlines.filter(({ points }) => isInside(points, x, y)).length % 2 === 1);
      };
      const land = [
        ...([
          [8.5, 47.4],
          [121, 31],
          [-100, 40],
          [133, -25],
          [-42, 70],
        ] as const),
        // Chukotka lies on both sides of the antimeridian, Antarctica around the pole.
        ...([
          [175, 67],
          [-175, 66.3],
          [0, -80],
          [179.5, -84.9],
          [-179.5, -84.9],
        ] as const),
      ];
      const sea = [
        [0, 0],
        [-150, 30],
        [-30, 45],
        [179, 0],
        [-179, 40],
        [100, -45],
      ] as const;
      assert.equal(
        land.filter(([longitude, latitude]) => !isLand(longitude, latitude)),
        [],
        detail,
      );
      assert.equal(
        sea.filter(([longitude, latitude]) => isLand(longitude, latitude)),
        [],
        detail,
      );
    }
  });

  test("a box goes the short way round the earth, and a map asks within the earth's degrees", () => {
    const place = (longitude: number, latitude = 0) => ({ longitude, latitude });
    assert.is(boxAround([]), null);
    assert.equal(boxAround([place(8, 47)]), { west: 8, east: 8, south: 47, north: 47 });
    assert.equal(boxAround([place(10), place(-20, 5)]), { west: -20, east: 10, south: 0, north: 5 });
    assert.equal(boxAround([place(178, -18), place(-172, -14)]), {
      west: 178,
      east: 188,
      south: -18,
      north: -14,
    });
    assert.is(formatBbox({ west: 170, east: 190, south: -95, north: 95 }), "170,-90,-170,90");
    assert.is(formatBbox({ west: -600, east: -100, south: 1, north: 2 }), "-180,1,180,2");
    assert.is(formatBbox({ west: -190, east: -170, south: 1, north: 2 }), "170,1,-170,2");
  });

  test("all places are found in finer and finer cells, however far apart they are", async () => {
    const cluster = { deviceIntID: null, deviceName: null, deviceStatus: null, worstSeverity: null };
    const answerOf = (places: readonly (readonly [number, number])[]) => {
      const asked: string[] = [];
      const ask = async (bbox: string) => {
        asked.push(bbox);
        const [west = 0, , east = 0] = bbox.split(",").map(Number);
        const isTogether = (west <= east ? east - west : east - west + 360) > 20;
        const sum = places.reduce(([x, y], [lng, lat]) => [x + lng, y + lat] as const, [0, 0] as const);
        const mean = [sum[0] / places.length, sum[1] / places.length] as const;
        const told = isTogether
          ? [{ at: mean, count: places.length }]
          : places.map((at) => ({ at, count: 1 }));
        const clusters = told.map(({ at: [longitude, latitude], count }) => ({
          ...cluster,
          longitude,
          latitude,
          count,
        }));
        return { clusters, total: places.length, isTruncated: false };
      };
      return { ask, asked };
    };
    const { ask, asked } = answerOf([
      [8, 47],
      [9, 47],
    ]);
    assert.equal(await boxOfAll(ask), { west: 8, east: 9, south: 47, north: 47 });
    assert.ok(asked.length >= 2 && asked.length <= 4, asked.join(" "));
    assert.is(await boxOfAll(async () => ({ clusters: [], total: 0, isTruncated: false })), null);
  });

  test("a view is read back from the address, and nothing else is", () => {
    const view = { latitude: 47.3769, longitude: 188.5, zoom: 9 };
    assert.equal(parseMapView(viewText(view)), { latitude: 47.3769, longitude: -171.5, zoom: 9 });
    for (const text of [undefined, "", "1,2", "1,2,3,4", "91,0,3", "0,181,3", "0,0,40", "a,b,c", "1,,3"])
      assert.is(parseMapView(text), null, text);
  });

  test("a name is written where it covers no other mark", () => {
    const marks = [
      { x: 0, y: 0, isNamed: true },
      { x: 60, y: 5, isNamed: true },
      { x: 400, y: 0, isNamed: false },
      { x: 0, y: 50, isNamed: true },
    ];
    assert.equal([...withSpace(marks)], [1, 3]);
  });

  test("counts that would lie over each other are one, as bad as the worst of them", () => {
    const single = { deviceIntID: null, deviceName: null, deviceStatus: null, latitude: 0 };
    const clusters = [
      { ...single, longitude: 40, count: 12, worstSeverity: 1 },
      { ...single, longitude: 0, count: 117, worstSeverity: null },
      { ...single, longitude: 100, count: 5, worstSeverity: 3 },
      { ...single, longitude: 1, count: 1, deviceIntID: 7, worstSeverity: null },
    ];
    assert.equal(
      withoutOverlap(clusters, ({ longitude }) => ({ x: longitude, y: 0 })).map((one) => [
        one.longitude,
        one.count,
        one.worstSeverity,
      ]),
      [
        [0, 129, 1],
        [100, 5, 3],
        [1, 1, null],
      ],
    );
  });

  test("a track goes on over the antimeridian, has its length, and arrowheads along it", () => {
    assert.equal(
      onward([
        [179, 1],
        [-179, 2],
        [178, 3],
      ]),
      [
        [179, 1],
        [181, 2],
        [178, 3],
      ],
    );
    const equator = [0, 90, 180].map((longitude) => ({ time: 0, lnglat: [longitude, 0] as const }));
    assert.ok(Math.abs(measureTrack(equator) - 20_015_115) < 10, String(measureTrack(equator)));
    const line = [
      { x: 0, y: 0 },
      { x: 100, y: 0 },
      { x: 100, y: 50 },
    ];
    const heads = arrowheads(line, 100, 7, 10);
    assert.equal(
      heads.map(([, tip]) => tip),
      [
        { x: 50, y: 0 },
        { x: 100, y: 50 },
      ],
    );
    assert.ok((heads[0]?.[0]?.x ?? 50) < 50, "it points on");
    assert.is(arrowheads(line, 1, 7, 10).length, 10);
    assert.is(nearest(line, { x: 98, y: 3 }, 10), 1);
    assert.is(nearest(line, { x: 50, y: 30 }, 10), null);
  });
});

/** By the crossings of a line to the west. */
function isInside(points: Float64Array, x: number, y: number): boolean {
  let crossings = 0;
  for (let i = 0; i < points.length; i += 2) {
    const k = (i + points.length - 2) % points.length;
    const [ax = 0, ay = 0, bx = 0, by = 0] = [points[i], points[i + 1], points[k], points[k + 1]];
    if (ay > y !== by > y && ax + ((y - ay) / (by - ay)) * (bx - ax) < x) crossings++;
  }
  return crossings % 2 === 1;
}

const hostile = "<img src=x onerror=alert(1)>";

async function place(world: World, product: Rec, name: string, longitude: number, latitude: number) {
  const device = await makeDevice(world, product, { deviceName: name });
  await world.call("PUT", `/api/v1/devices/${device.id}/location`, { longitude, latitude });
  return device;
}

/** So many pixels from the corner of the map. */
async function clickMap(page: Page, x: number, y: number): Promise<void> {
  const box = await page.locator(".map-place").boundingBox();
  assert.ok(box !== null);
  await page.mouse.click(box.x + x, box.y + y);
}

async function viewer(world: World) {
  const user = { username: unique("viewing"), password: "correct horse battery" };
  await world.make("/api/v1/users", { ...user, role: "viewer" });
  return user;
}

consoleSuite("console: maps", (test, world, web) => {
  let product: Rec;
  let other: Rec;
  let alone: Rec;

  test("where no device has a place it says how one gets one", async () => {
    const { page } = await web.openIn("/map");
    await page.getByText("No device has a place yet.").waitFor();
    assert.match(await page.locator(".map pre").innerText(), /curl -X PUT .*\/devices\/1\/location/);
    assert.ok((await page.locator(".map canvas").count()) > 0, "the land is there all the same");
  });

  test("marks have their counts and states; a cluster is zoomed into, a device opened from the map", async () => {
    product = await makeProduct(world);
    other = await makeProduct(world);
    for (const i of [0, 1, 2]) await place(world, product, `near ${i}`, 8.5 + i / 50, 47.3);
    alone = await place(world, other, hostile, 9.9, 53.5);
    const { page } = await web.openIn("/map?at=50,9,5");
    const cluster = page.getByRole("button", { name: "3 devices: no alerts" });
    await cluster.waitFor();
    assert.is((await cluster.innerText()).trim(), "3");
    await page.getByRole("button", { name: `${hostile}: offline` }).click();
    const panel = page.getByRole("region", { name: hostile });
    await panel.getByText("no alerts").waitFor();
    await panel.getByText("53.50000° N, 9.90000° E").waitFor();
    assert.match(page.url(), new RegExp(`device=${alone.id}`));
    for (const zoom of [7, 9]) {
      await cluster.click();
      await page.waitForURL((url) => (url.searchParams.get("at") ?? "").endsWith(`,${zoom}`));
    }
    for (const zoom of [10, 11, 12, 13]) {
      await page.getByRole("button", { name: "Zoom in" }).click();
      await page.waitForURL((url) => (url.searchParams.get("at") ?? "").endsWith(`,${zoom}`));
    }
    for (const i of [0, 1, 2]) await page.getByRole("button", { name: `near ${i}: offline` }).waitFor();
    await panel.getByRole("link", { name: "To the device" }).click();
    await page.getByRole("heading", { level: 1, name: hostile }).waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "near 1: offline" }).waitFor();
    assert.is(await page.locator("main img").count(), 0);
  });

  test("the worst alert of a cluster is its mark", async () => {
    await world.make("/api/v1/data_points", {
      productIntID: other.id,
      dataPointID: "heat",
      dataPointName: "Heat",
      pointDataType: 1,
      dataTransType: 1,
      upperLimit: 30,
    });
    await place(world, other, "beside", 9.91, 53.51);
    await world.publish(alone, { heat: 40 });
    await world.alertsSettled();
    const { page } = await web.openIn("/map?at=50,9,5&as=list");
    const mark = page.getByRole("button", { name: "2 devices: worst alert: major" });
    await mark.waitFor();
    assert.is(await mark.locator(".status.bad").count(), 1);
    const rows = page.locator(".place-list li");
    assert.match(await rows.first().innerText(), /2 devices[\s\S]*worst alert: major/);
    await rows.first().getByRole("button").click();
    await page.waitForURL((url) => (url.searchParams.get("at") ?? "").endsWith(",7"));
  });

  test("it is filtered by a product and a group, and the address keeps that", async () => {
    const group = await world.make("/api/v1/groups", groupBody(product));
    const { page } = await web.openIn("/map?at=50,9,5&as=list");
    await page.getByText("5 devices in view").waitFor();
    await page.getByLabel("All products").selectOption(String(product.id));
    await page.getByText("3 devices in view").waitFor();
    await page.reload();
    await page.getByText("3 devices in view").waitFor();
    await page.getByLabel("All groups").selectOption(String(group.id));
    await page.getByText("No device of this choice has a place.").waitFor();
  });

  test("all devices are shown at first, over the antimeridian too; keys move the map and open marks", async () => {
    const islands = await makeProduct(world);
    await place(world, islands, "Suva", 178.4, -18.1);
    await place(world, islands, "Apia", -171.8, -13.8);
    const { page } = await web.openIn(`/map?product=${islands.id}`);
    const mark = page.getByRole("button", { name: "Suva: offline" });
    await mark.waitFor();
    await page.getByRole("button", { name: "Apia: offline" }).waitFor();
    const at = (): string => new URL(page.url()).searchParams.get("at") ?? "";
    await until(() => at() !== "", { what: "the view in the address" });
    const [latitude = 0, longitude = 0, zoom = 0] = at().split(",").map(Number);
    assert.ok(zoom >= 5 && Math.abs(latitude + 16) < 3, at());
    assert.ok(Math.abs(longitude) > 170, at());
    await page.getByRole("group", { name: "Map of devices" }).focus();
    await page.keyboard.press("ArrowUp");
    await until(() => Number(at().split(",")[0]) > latitude, { what: "the map further north" });
    await mark.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Suva" }).waitFor();
  });

  test("the map says what is left out, and why there is no answer; it goes on by itself", async () => {
    const { page } = await web.openIn("/map?at=50,9,5&as=list");
    await page.getByText("5 devices in view").waitFor();
    let isAway = true;
    await page.route("**/api/v1/device_places*", async (route) => {
      if (isAway) await route.abort();
      else {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), isTruncated: true } });
      }
    });
    await page.getByRole("button", { name: "Zoom in" }).click();
    await page.getByRole("alert").getByText("The service does not answer").waitFor();
    assert.ok((await page.locator(".mark").count()) > 0, "what was known stays");
    isAway = false;
    await page.getByText("too many devices here").waitFor();
    assert.is(await page.getByRole("alert").count(), 0);
  });

  test("a place is set by a click on the map or typed; what is wrong stands beside it", async () => {
    const device = await makeDevice(world, product);
    const { page } = await web.openIn(`/devices/${device.id}?tab=place`);
    await page.getByText("This device has no place yet.").waitFor();
    await clickMap(page, 300, 200);
    const save = page.getByRole("button", { name: "Save the place" });
    const latitude = page.getByLabel("Latitude");
    const clicked = Number(await latitude.inputValue());
    assert.ok(Math.abs(clicked) > 0 && Math.abs(clicked) < 90, String(clicked));
    await save.click();
    await page.locator(".pin.here").waitFor();
    const record = async (): Promise<Rec> => (await world.call("GET", `/api/v1/devices/${device.id}`)).record;
    assert.ok(Math.abs(Number((await record()).latitude) - clicked) < 1e-5);
    await latitude.fill("91");
    await save.click();
    await page.getByRole("alert").first().waitFor();
    assert.is(await latitude.inputValue(), "91", "what was typed stays");
    await latitude.fill("47.3769");
    await page.getByLabel("Longitude").fill("8.5417");
    await save.click();
    await until(async () => (await record()).longitude === 8.5417, { what: "the place that was typed" });
    await page.getByRole("button", { name: "Take the place away" }).click();
    await page.getByText("This device has no place yet.").waitFor();
    assert.is((await record()).longitude, null);
  });

  test("a track has its first and last position, and the place at each time in the chosen zone", async () => {
    await world.make("/api/v1/data_points", {
      productIntID: product.id,
      dataPointID: "pos",
      dataPointName: "Position",
      pointDataType: 6,
      dataTransType: 1,
    });
    const device = await makeDevice(world, product);
    const start = Date.parse("2026-01-05T23:30:00Z");
    const times = [0, 1, 2, 3].map((i) => ({ time: start + i * 60_000, pos: [8.5 + i / 100, 47.3] }));
    await world.publish(device, ...times);
    await world.alertsSettled();
    const range = `from=${start - 1000}&to=${start + 3_600_000}`;
    const { page } = await web.openIn(`/devices/${device.id}?tab=place&${range}&tz=Asia/Shanghai`);
    await page.locator(".pin.first").waitFor();
    await page.locator(".pin.last", { hasText: "Last: here" }).waitFor();
    await page.getByText("2.3 km").waitFor();
    assert.ok((await page.locator("path.track").count()) >= 2, "a line and its arrowheads");
    const along = page.getByLabel("Along the track");
    await along.focus();
    await page.keyboard.press("Home");
    await page.getByText("2026-01-06 07:30:00, 47.30000° N, 8.50000° E").waitFor();
    await page.keyboard.press("ArrowRight");
    await page.getByText("2026-01-06 07:31:00, 47.30000° N, 8.51000° E").waitFor();
    await page.locator(".pin.cursor").waitFor();
    await page.getByRole("button", { name: "-1h" }).click();
    await page.getByText("No positions in this range.").waitFor();
  });

  test("an area is drawn corner by corner, a circle by its centre, and taken away; alerts follow them", async () => {
    const device = await place(world, product, unique("Fenced"), 8.5, 47.3);
    const { page } = await web.openIn(`/devices/${device.id}?tab=place`);
    await page.locator(".pin.here").waitFor();
    await page.getByRole("button", { name: "Draw an area" }).click();
    for (const [x, y] of [
      [100, 100],
      [300, 100],
      [300, 300],
      [200, 320],
    ] as const)
      await clickMap(page, x, y);
    await page.getByText("4 so far").waitFor();
    await page.getByRole("button", { name: "Take the last corner away" }).click();
    await page.getByText("3 so far").waitFor();
    await page.getByLabel("Name", { exact: true }).fill(hostile);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator("path.area.allowed").waitFor();
    await page.getByRole("button", { name: "Draw a circle" }).click();
    await clickMap(page, 400, 200);
    await page.getByLabel("Name", { exact: true }).fill("pond");
    await page.getByLabel("Kind").selectOption({ label: "must not be entered" });
    await page.getByLabel("Radius in metres").fill("250");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator("path.area.forbidden").waitFor();
    const { record } = await world.call("GET", `/api/v1/devices/${device.id}`);
    const [area, circle] = record.scopes as Record<string, unknown>[];
    assert.equal(
      [area?.scopeType, area?.scopeName, Array.isArray(area?.points) && area.points.length],
      [1, hostile, 3],
    );
    assert.equal([circle?.scopeType, circle?.radius], [2, 250]);
    assert.is(record.longitude, 8.5, "no corner has become the place");
    const remove = page.getByRole("button", { name: `Delete: ${hostile}` });
    await remove.click();
    await remove.click();
    await page.locator("path.area.allowed").waitFor({ state: "detached" });
    assert.is(await page.locator("main img").count(), 0);
  });

  test("a user who may only read sees the place and no way to change it", async () => {
    const { page } = await web.openIn(`/devices/${alone.id}?tab=place`, { user: await viewer(world) });
    await page.locator(".pin.here").waitFor();
    await page.getByText("53.50000° N, 9.90000° E").waitFor();
    assert.is(await page.getByRole("button", { name: /Save|Draw|Delete|Take/ }).count(), 0);
    await clickMap(page, 300, 200);
    assert.is(await page.locator(".pin.draft").count(), 0);
  });

  test("on a phone nothing scrolls sideways, and the whole earth is in the map", async () => {
    const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
    const { page } = await web.openIn("/map?as=list", phone);
    await page.getByText(/devices in view/).waitFor();
    for (const path of [null, `/devices/${alone.id}?tab=place`]) {
      if (path !== null) await page.goto(`${world.http}/console${path}`);
      await page.locator(".map canvas").first().waitFor();
      assert.is(await page.evaluate<number>("document.documentElement.scrollWidth"), 360, path ?? "the map");
    }
  });
});

consoleSuite(
  "console: maps, Variant B",
  (test, world, web) => {
    test("devices and gateways are on the map, and their places and areas are set as in Variant A", async () => {
      const headers = { "Api-Variant": "A" };
      const product = await world.make(
        "/api/v1/products",
        { productName: unique("P"), cloudProtocol: 1 },
        { headers },
      );
      const body = { productID: product.productID, authType: 1, location: "roof" };
      const device = await world.make("/api/v1/devices", { ...body, deviceName: "a device", deviceType: 0 });
      const gateway = await world.make("/api/v1/devices", {
        ...body,
        deviceName: "a gateway",
        deviceType: 1,
      });
      for (const [i, { id }] of [device, gateway].entries())
        assert.is(
          (await world.call("PUT", `/api/v1/devices/${id}/location`, { longitude: 8 + i, latitude: 47 }))
            .status,
          200,
        );
      const { page } = await web.openIn("/map");
      await page.getByRole("button", { name: "a device: offline" }).waitFor();
      await page.getByRole("button", { name: "a gateway: offline" }).click();
      const chosen = page.getByRole("region", { name: "a gateway" });
      await chosen.getByText("no alerts").waitFor();
      await chosen.getByRole("link", { name: "Place" }).click();
      await page.getByRole("heading", { level: 1, name: "a gateway" }).waitFor();
      await page.locator(".pin.here").waitFor();
      assert.is(await page.getByLabel("Longitude").inputValue(), "9");
      await page.goto(`${world.http}/console/devices/${device.id}?tab=place`);
      await page.locator(".pin.here").waitFor();
      await page.getByLabel("Latitude").fill("-33.5");
      await page.getByRole("button", { name: "Save the place" }).click();
      await page.getByRole("button", { name: "Draw a circle" }).click();
      await clickMap(page, 300, 200);
      await page.getByLabel("Name", { exact: true }).fill("yard");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.locator("path.area.allowed").waitFor();
      const { record } = await world.call("GET", `/api/v1/devices/${device.id}`, undefined, { headers });
      assert.equal([record.latitude, record.location], [-33.5, "roof"]);
      assert.is((record.scopes as unknown[]).length, 1);
    });
  },
  { API_VARIANT: "B" },
);

consoleSuite(
  "console: maps with tiles",
  (test, world, web) => {
    const usual = tiles.answer;
    test.after(() => tiles.close());
    const shown = (page: Page) => page.locator(".map-tiles img.leaflet-tile-loaded");
    const filterOf = (page: Page): Promise<string> =>
      page.evaluate<string>("getComputedStyle(document.querySelector('.map-tiles')).filter");

    test("tiles lie over the outlines, from this service alone, and their source is named", async () => {
      const { page } = await web.openIn("/map?at=47,8,6");
      await shown(page).nth(3).waitFor();
      assert.is(await page.locator(".map-foot").getByText(`Map: ${tiles.attribution}`).count(), 1);
      assert.is(await page.locator(".map-foot img").count(), 0, "a source is text");
      const width = "document.querySelector('.map-tiles img.leaflet-tile-loaded').naturalWidth";
      assert.is(await page.evaluate<number>(width), 256);
      assert.ok(tiles.asked.length > 3);
      assert.not.match(await filterOf(page), /invert/);
      await page.emulateMedia({ colorScheme: "dark" });
      await until(async () => /invert/.test(await filterOf(page)), { what: "tiles for a dark page" });
    });

    test("where the tile server is gone the outlines show and it says so, until it is back", async () => {
      tiles.answer = (response) => response.destroy();
      const { page } = await web.openIn("/map?at=47,8,7");
      await page.getByText("Tiles are missing: outlines instead").waitFor();
      assert.is(await shown(page).count(), 0);
      assert.ok((await page.locator(".map canvas").count()) > 0);
      tiles.answer = usual;
      world.clock.pass(6000);
      await page.getByRole("button", { name: "Zoom in" }).click();
      await shown(page).first().waitFor();
      await page.getByText("Tiles are missing: outlines instead").waitFor({ state: "detached" });
    });

    test("tiles that are asked for once more while the map is zoomed are not missed for ever", async () => {
      tiles.answer = (response) => response.destroy();
      const { page } = await web.openIn("/map?at=40,-100,8");
      const missing = page.getByText("Tiles are missing: outlines instead");
      await missing.waitFor();
      const areAllOver = "[...document.querySelectorAll('.map-tiles img')].every(({ complete }) => complete)";
      await until(() => page.evaluate<boolean>(areAllOver), { what: "all tiles to have failed" });
      world.clock.pass(6000);
      const held: (() => void)[] = [];
      tiles.answer = (response, request) => held.push(() => usual(response, request));
      // As the map does by and by.
      await page.evaluate(
        "for (const tile of document.querySelectorAll('.map-tiles img')) tile.src = tile.src",
      );
      await until(() => held.length > 0, { what: "a tile to be asked for once more" });
      tiles.answer = usual;
      await page.getByRole("button", { name: "Zoom in" }).click();
      await until(() => tiles.asked.some((path) => path.startsWith("/9/")), { what: "the nearer tiles" });
      for (const release of held) release();
      await shown(page).first().waitFor();
      await missing.waitFor({ state: "detached" });
    });

    test("on a phone the source takes no more than the map's width", async () => {
      const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
      const { page } = await web.openIn("/map?at=47,8,6", phone);
      await shown(page).first().waitFor();
      assert.is(await page.evaluate<number>("document.documentElement.scrollWidth"), 360);
    });
  },
  { MAP_TILES_URL: tiles.template, MAP_TILES_ATTRIBUTION: tiles.attribution },
);
