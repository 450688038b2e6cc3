import { documentBody, layout, panelsOf } from "../dashboards/documents.js";
import { makeDataPoint, makeDevice, makeGroup, makeMetric, makeProduct, unique } from "../factories.js";
import { assert } from "../suite.js";
import { hasKeys, type Rec, type Reply, refused, stampPattern, worldSuite, worldSuites } from "../world.js";

const path = "/api/v1/dashboards";
const fields = [
  ...[
    "id",
    "name",
    "allowedOrigins",
    "expiresAt",
    "version",
    "enable",
    "createUser",
    "createAt",
    "lastUsedAt",
  ],
];

worldSuite("shares of dashboards", (test, world) => {
  const makeDashboard = (panels: readonly object[] = [], options: object = {}): Promise<Rec> =>
    world.make(path, { name: unique("Board"), document: documentBody(panels, { variables: [] }) }, options);
  const share = (dashboard: Rec, more: object = {}): Promise<Rec> =>
    world.make(`${path}/${dashboard.id}/shares`, { name: unique("Share"), ...more });
  const visit = (token: unknown, url = "/api/v1/shared"): Promise<Reply> =>
    world.call("GET", url, undefined, { key: null, headers: { Authorization: `Share ${token}` } });

  test("is made with a token that is shown once, listed without it, edited, revoked", async () => {
    const dashboard = await makeDashboard();
    const url = `${path}/${dashboard.id}/shares`;
    const origins = ["https://a.example.com", "http://10.0.0.1:8080"];
    const name = `"; drop table dashboard_share; -- 🚜`;
    const made = await share(dashboard, { name, allowedOrigins: origins, expiresAt: "2099-01-01 00:00:00" });
    hasKeys(made, [...fields, "token", "path"]);
    assert.match(String(made.token), /^[\w-]{32}$/);
    assert.equal(
      [made.name, made.version, made.enable, made.lastUsedAt, made.createUser],
      [name, "latest", 1, null, "admin"],
    );
    assert.equal(made.allowedOrigins, origins);
    const { token: _, path: __, ...rest } = made;
    const listed = await world.call("GET", url);
    assert.equal(listed.page.items, [rest as Rec]);
    refused(await world.call("GET", `${url}?token=${made.token}`), "PARAMETER_INVALID", "token");
    const plain = await share(dashboard);
    assert.equal([plain.allowedOrigins, plain.expiresAt], [[], null]);
    const edited = await world.call("PUT", `${url}/${made.id}`, {
      name: "new",
      allowedOrigins: null,
      expiresAt: null,
    });
    assert.equal(edited.record, { ...rest, name: "new", allowedOrigins: [], expiresAt: null });
    assert.is((await world.call("DELETE", `${url}?ids=${made.id},${plain.id}`)).status, 204);
    assert.is((await world.call("GET", url)).page.meta.count, 0);
    refused(await visit(made.token), "AUTH_FAILED");
  });

  test("its page may be framed by the pages of its origins alone, for as long as it holds", async () => {
    const dashboard = await makeDashboard();
    const origins = ["https://a.example.com", "http://10.0.0.1:8080"];
    const made = await share(dashboard, { allowedOrigins: origins });
    const [address = "", token] = String(made.path).split("#");
    assert.is(token, made.token);
    assert.not.ok(address.includes(String(made.token)));
    const framersAt = async (at: string) => {
      const response = await fetch(world.http + at);
      return /frame-ancestors ([^;]+)/.exec(response.headers.get("content-security-policy") ?? "")?.[1];
    };
    assert.is(await framersAt(address), origins.join(" "));
    // Other spellings of the address lead to the same route, and in a browser to other pages.
    for (const other of ["/console/%73hared", "/conso%6ce/shared", "/console//shared"]) {
      assert.is(await framersAt(address.replace("/console/shared", other)), "'none'", other);
    }
    const etags = await Promise.all(
      ["/console/", address].map(async (at) => (await fetch(world.http + at)).headers.get("etag")),
    );
    assert.not.equal(etags[0], etags[1]);
    assert.is(await framersAt("/console/"), "'none'");
    assert.is(await framersAt(`${address}x`), "'none'");
    assert.is(await framersAt(`/console/shared/${"A".repeat(43)}`), "'none'");
    assert.is(await framersAt("/console/shared/'%20or%201=1"), "'none'");
    const url = `${path}/${dashboard.id}/shares/${made.id}`;
    assert.is((await world.call("PUT", url, { enable: 0 })).status, 200);
    assert.is(await framersAt(address), "'none'");
    assert.is((await world.call("PUT", url, { enable: 1 })).status, 200);
    assert.is(await framersAt(address), origins.join(" "));
    // What an address shows opens nothing.
    refused(await visit(address.split("/").at(-1)), "AUTH_FAILED");
  });

  test("what cannot be is refused by name", async () => {
    const url = `${path}/${(await makeDashboard()).id}/shares`;
    const wrong: readonly (readonly [object, string])[] = [
      [{}, "name"],
      [{ name: "s", allowedOrigins: ["https://a.example.com/"] }, "allowedOrigins.0"],
      [{ name: "s", allowedOrigins: ["javascript:alert(1)"] }, "allowedOrigins.0"],
      [{ name: "s", allowedOrigins: ["https://*.example.com"] }, "allowedOrigins.0"],
      [{ name: "s", allowedOrigins: ["https://a.b; script-src *"] }, "allowedOrigins.0"],
      [{ name: "s", allowedOrigins: ["https://a.b;script-src"] }, "allowedOrigins.0"],
      [{ name: "s", allowedOrigins: ["https://u@a.b"] }, "allowedOrigins.0"],
      [
        { name: "s", allowedOrigins: Array.from({ length: 11 }, (_, i) => `https://a${i}.example.com`) },
        "allowedOrigins",
      ],
      [{ name: "s", expiresAt: "2001-01-01 00:00:00" }, "expiresAt"],
      [{ name: "s", expiresAt: "soon" }, "expiresAt"],
      [{ name: "s", enable: 2 }, "enable"],
    ];
    for (const [body, field] of wrong)
      refused(await world.call("POST", url, body), "PARAMETER_INVALID", field);
  });

  test("a token shows its dashboard as it is now, without commands, and nothing else", async () => {
    const command = {
      id: "c",
      type: "command",
      title: "",
      layout,
      deviceID: "secret-device",
      payload: "p",
      confirm: false,
      label: "",
    };
    const text = { id: "t", type: "text", title: "", layout, markdown: "hello" };
    const dashboard = await makeDashboard([command, text]);
    const origins = ["https://a.example.com"];
    const { token, id } = await share(dashboard, { allowedOrigins: origins });
    const seen = await visit(token);
    assert.is(seen.status, 200, seen.text);
    assert.equal(seen.record as object, {
      ...{ name: dashboard.name, allowedOrigins: origins, timezone: "UTC" },
      zone: { name: "UTC", offset: 0, changes: [] },
      document: documentBody([text], { variables: [] }),
    });
    assert.not.ok(seen.text.includes("secret-device"));
    const document = documentBody([], { variables: [], timezone: "Asia/Shanghai" });
    await world.call("PUT", `${path}/${dashboard.id}`, { version: 1, document });
    assert.is((await visit(token)).record.timezone, "Asia/Shanghai");
    // Neither panels that are none, nor what is not shared.
    for (const panel of ["c", "t", "none", "..", "%00"]) {
      refused(await visit(token, `/api/v1/shared/panels/${panel}/data`), "DATA_NOT_FOUND");
    }
    for (const url of ["/api/v1/devices", path, `${path}/${dashboard.id}`, "/api/v1/me", "/metrics"]) {
      refused(await visit(token, url), "AUTH_FAILED");
    }
    const used = (await world.call("GET", `${path}/${dashboard.id}/shares`)).page.items.find(
      (one) => one.id === id,
    );
    assert.match(String(used?.lastUsedAt), stampPattern);
  });

  test("credentials of callers are no share, and a share comes by its header alone", async () => {
    const { token } = await share(await makeDashboard());
    refused(await world.call("GET", "/api/v1/shared"), "AUTH_FAILED");
    refused(
      await world.call("GET", `/api/v1/shared?token=${token}`, undefined, { key: null }),
      "AUTH_FAILED",
    );
    refused(await world.call("GET", "/api/v1/shared", undefined, { key: String(token) }), "AUTH_FAILED");
    const post = await world.call("POST", "/api/v1/shared", {}, { key: null });
    refused(post, "METHOD_NOT_ALLOWED");
  });

  test("revoked, turned off, expired, or with its dashboard gone: 401 from the next request on", async () => {
    const dashboard = await makeDashboard();
    const url = `${path}/${dashboard.id}/shares`;
    const [revoked, off, expiring, orphan] = [
      await share(dashboard),
      await share(dashboard),
      await share(dashboard, { expiresAt: String(world.clock.now() + 60_000) }),
      await share(dashboard),
    ];
    const all = [revoked, off, expiring, orphan];
    for (const one of all) assert.is((await visit(one.token)).status, 200);
    assert.is((await world.call("DELETE", `${url}?ids=${revoked.id}`)).status, 204);
    refused(await visit(revoked.token), "AUTH_FAILED", "token");
    await world.call("PUT", `${url}/${off.id}`, { enable: 0 });
    refused(await visit(off.token), "AUTH_FAILED");
    await world.call("PUT", `${url}/${off.id}`, { enable: 1 });
    assert.is((await visit(off.token)).status, 200);
    world.clock.pass(61_000);
    refused(await visit(expiring.token), "AUTH_FAILED");
    await world.call("DELETE", `${path}?ids=${dashboard.id}`);
    refused(await visit(orphan.token), "AUTH_FAILED");
  });

  test("guesses wait, by address, and a right token gets in meanwhile", async () => {
    const { token } = await share(await makeDashboard());
    let waiting: Reply | undefined;
    for (let i = 0; waiting === undefined && i < 20; i++) {
      const reply = await visit(`guess-${"x".repeat(20)}${i}`);
      if (reply.status === 429) waiting = reply;
      else refused(reply, "AUTH_FAILED");
    }
    assert.ok(Number(waiting?.headers.get("Retry-After")) >= 1);
    assert.is((await visit(token)).status, 200);
    world.clock.pass(600_000);
  });

  test("what is too much waits, beyond that it is refused; another share has its own", async () => {
    const dashboard = await makeDashboard();
    const [one, other] = [await share(dashboard), await share(dashboard)];
    const burst = (count: number) => Promise.all(Array.from({ length: count }, () => visit(one.token)));
    // A page with sixteen panels.
    assert.equal(new Set((await burst(17)).map(({ status }) => status)), new Set([200]));
    const many = await burst(100);
    const refusal = many.find(({ status }) => status !== 200);
    assert.ok(refusal !== undefined);
    refused(refusal, "TOO_MANY_REQUESTS");
    assert.ok(Number(refusal.headers.get("Retry-After")) >= 1);
    assert.is((await visit(other.token)).status, 200);
    world.clock.pass(2000);
    assert.is((await visit(one.token)).status, 200);
  });

  test("tenants and roles: shares of another's dashboard are not there, and viewers make none", async () => {
    const dashboard = await makeDashboard();
    const made = await share(dashboard);
    const url = `${path}/${dashboard.id}/shares`;
    const key = await world.otherTenant();
    refused(await world.call("GET", url, undefined, { key }), "DATA_NOT_FOUND");
    refused(await world.call("POST", url, { name: "s" }, { key }), "DATA_NOT_FOUND");
    refused(await world.call("PUT", `${url}/${made.id}`, { enable: 0 }, { key }), "DATA_NOT_FOUND");
    refused(await world.call("DELETE", `${url}?ids=${made.id}`, undefined, { key }), "DATA_NOT_FOUND");
    const theirs = await makeDashboard([], { key });
    refused(
      await world.call("DELETE", `${path}/${theirs.id}/shares?ids=${made.id}`, undefined, { key }),
      "DATA_NOT_FOUND",
    );
    refused(await world.call("PUT", `${path}/${theirs.id}/shares/${made.id}`, {}, { key }), "DATA_NOT_FOUND");
    const other = await makeDashboard();
    refused(await world.call("DELETE", `${path}/${other.id}/shares?ids=${made.id}`), "DATA_NOT_FOUND");
    for (const wrong of ["x", "0", "99999999"]) {
      refused(await world.call("DELETE", `${url}?ids=${made.id},${wrong}`), "DATA_NOT_FOUND");
      refused(await world.call("PUT", `${url}/${wrong}`, {}), "DATA_NOT_FOUND");
    }
    const viewer = await world.keyOf("viewer");
    const list = await world.call("GET", url, undefined, { key: viewer });
    assert.is(list.page.meta.count, 1);
    assert.not.ok(list.text.includes("token"));
    for (const [method, to] of [
      ["POST", url],
      ["PUT", `${url}/${made.id}`],
      ["DELETE", `${url}?ids=${made.id}`],
    ] as const) {
      const body = method === "DELETE" ? undefined : { name: "s" };
      refused(await world.call(method, to, body, { key: viewer }), "PERMISSION_DENIED");
    }
    assert.is((await visit(made.token)).status, 200);
  });
});

worldSuites("panels of shared dashboards", (test, world) => {
  interface Shown {
    readonly product: Rec;
    readonly device: Rec;
    readonly point: Rec;
    readonly metric: Rec;
    visit(panel: string, query?: string): Promise<Reply>;
  }
  let shown: Shown;
  const noon = Date.UTC(2026, 2, 1, 12);
  const at = (minutes: number) => noon / 1000 + minutes * 60;

  test.before(async () => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product, { upperLimit: 40 });
    const metric = await makeMetric(world, point);
    const device = await makeDevice(world, product);
    const group = await makeGroup(world, product);
    await world.call("POST", `/api/v1/groups/${group.id}/devices`, { ids: [device.id] });
    await world.call("PUT", `/api/v1/devices/${device.id}/location`, { longitude: 8.5, latitude: 47.4 });
    const key = String(point.dataPointID);
    await world.publish(
      device,
      ...[0, 30, 60].map((m) => ({ time: at(m), [key]: 20 + m / 30 })),
      { time: at(-60 * 20), [key]: 1 },
      { time: at(90), [key]: 50 },
    );
    await world.alertsSettled();
    const ids = {
      ...{
        deviceID: String(device.deviceID),
        groupID: String(group.groupID),
        productID: String(product.productID),
      },
      ...{ dataPointIntID: point.id, metricIntID: metric.id },
    };
    const extra = [
      {
        id: "group",
        type: "chart",
        title: "",
        layout,
        unit: "real",
        series: [
          { deviceID: "$all", dataPointIntID: point.id },
          { deviceID: "$none", dataPointIntID: point.id },
          { deviceID: "gone", dataPointIntID: point.id },
          { deviceID: device.deviceID, metricIntID: 987654 },
        ],
      },
      { id: "earth", type: "map", title: "", layout },
    ];
    const document = documentBody(
      [
        ...panelsOf(ids).filter(({ id }) => id !== "chart"),
        { ...panelsOf(ids)[0], compare: undefined },
        ...extra,
      ],
      {
        variables: [
          { name: "house", label: "", type: "device", value: device.deviceID },
          { name: "all", label: "", type: "group", value: group.groupID },
          { name: "none", label: "", type: "device", value: "" },
        ],
        range: { start: "2026-03-01T12:00:00Z", end: "2026-03-01T14:00:00Z" },
      },
    );
    const dashboard = await world.make(path, { name: "board", document });
    const { token } = await world.make(`${path}/${dashboard.id}/shares`, { name: "s" });
    const headers = { Authorization: `Share ${token}` };
    shown = {
      ...{ product, device, point, metric },
      visit: async (panel, query = "") => {
        world.clock.pass(1000);
        return world.call("GET", `/api/v1/shared/panels/${panel}/data?${query}`, undefined, {
          key: null,
          headers,
        });
      },
    };
  });

  const seriesOf = async (panel: string, query = ""): Promise<readonly (readonly Rec[])[]> => {
    const reply = await shown.visit(panel, query);
    assert.is(reply.status, 200, reply.text);
    hasKeys(reply.record, ["type", "startTime", "endTime", "series", "points"]);
    return reply.record.series as Rec[][];
  };
  const span = "startTime=2026-03-01T12:00:00Z&endTime=2026-03-01T14:00:00Z";

  test("a series is what the data endpoints answer of it", async () => {
    const { device, point, metric } = shown;
    const raw = await world.call(
      "GET",
      `/api/v1/original_data?deviceID=${device.deviceID}&time_unit=real&${span}`,
    );
    const [first] = await seriesOf("chart", "timezone=Asia/Tokyo&timeFormat=ms");
    assert.equal(
      first?.map(({ dataPointIntID }) => dataPointIntID),
      [point.id],
    );
    const own = first?.[0]?.originalData as { readonly time: number[]; readonly value: number[] } | undefined;
    assert.equal(own, { time: [0, 30, 60, 90].map((m) => at(m) * 1000), value: [20, 21, 22, 50] });
    const [newest] = await seriesOf("chart", "limit=2&timeFormat=ms");
    assert.equal((newest?.[0]?.originalData as { readonly value: number[] } | undefined)?.value, [22, 50]);
    assert.equal(own?.value, (raw.list[0]?.originalData as { readonly value: number[] } | undefined)?.value);
    const windows = await world.call(
      "GET",
      `/api/v1/metrics_data?deviceID=${device.deviceID}&metricIntID=${metric.id}&time_unit=day&fill=zero&${span}`,
    );
    assert.equal(await seriesOf("value"), [windows.list]);
    const { record } = await shown.visit("chart");
    assert.equal((record.points as Rec[])[0], {
      dataPointName: point.dataPointName,
      unitSymbol: point.unitSymbol,
      lowerLimit: point.lowerLimit,
      upperLimit: point.upperLimit,
    });
    assert.equal((await shown.visit("value")).record.points, [null]);
  });

  test("variables stand for a group; what is not chosen or gone is empty, and the rest is there", async () => {
    const [group, none, gone, strange] = await seriesOf("group");
    assert.equal(
      group?.map(({ deviceIntID }) => deviceIntID),
      [shown.device.id],
    );
    assert.equal([none, gone, strange], [[], [], []]);
  });

  test("the range is cut to what is shared, and points are thinned", async () => {
    const pointsOf = async (query: string) => {
      const [[item] = []] = await seriesOf("chart", query);
      return item === undefined ? [] : (item.originalData as { readonly value: readonly number[] }).value;
    };
    // Twenty hours before lies within 12 × 2 hours, which end at 14:00.
    assert.equal(await pointsOf("startTime=1970-01-01T00:00:00Z"), [1, 20, 21, 22, 50]);
    assert.equal(await pointsOf("startTime=2026-03-01T12:15:00Z&endTime=2099-01-01T00:00:00Z"), [21, 22, 50]);
    assert.equal((await pointsOf("maxPoints=3")).length, 3);
    const reply = await shown.visit("chart", "startTime=0&timezone=Asia/Tokyo");
    assert.equal(
      [reply.record.startTime, reply.record.endTime],
      ["2026-02-28 23:00:00", "2026-03-01 23:00:00"],
    );
    refused(await shown.visit("chart", "startTime=2026-03-01T14:00:00Z"), "PARAMETER_INVALID", "startTime");
    refused(await shown.visit("chart", "endTime=2026-02-01T00:00:00Z"), "PARAMETER_INVALID", "endTime");
    refused(await shown.visit("chart", "startTime=x"), "PARAMETER_INVALID", "startTime");
    refused(await shown.visit("chart", "timezone=Mars"), "PARAMETER_INVALID", "timezone");
    refused(await shown.visit("chart", "maxPoints=1"), "PARAMETER_INVALID", "maxPoints");
  });

  test("nobody asks for other devices or points than the panel has", async () => {
    const other = await makeDevice(world, shown.product);
    const query = `deviceID=${other.deviceID}&deviceIntID=${other.id}&groupID=x&metricIntID=1&dataPointIntID=999999`;
    assert.equal(await seriesOf("chart", query), await seriesOf("chart"));
  });

  test("alerts and maps", async () => {
    const alerts = await shown.visit("alerts");
    assert.is(alerts.status, 200, alerts.text);
    const current = await world.call("GET", `/api/v1/current_alerts?deviceID=${shown.device.deviceID}`);
    assert.equal(alerts.record as object, { type: "alerts", alerts: current.page.items });
    for (const map of ["map", "map-of-group", "map-of-product", "earth"]) {
      const { record, text } = await shown.visit(map, "bbox=8,47,9,48&zoom=20");
      assert.equal([record.type, record.total, record.isTruncated], ["map", 1, false], text);
      const [cluster] = record.clusters as Rec[];
      assert.equal(
        [cluster?.deviceIntID, cluster?.longitude, cluster?.worstSeverity],
        [shown.device.id, 8.5, 2],
      );
    }
    assert.is((await shown.visit("earth", "bbox=9,47,10,48&zoom=9")).record.total, 0);
    refused(await shown.visit("earth", "bbox=1&zoom=99"), "PARAMETER_INVALID", "bbox", "zoom");
    refused(await shown.visit("command"), "DATA_NOT_FOUND");
  });

  test("an answer that is there already is not sent again", async () => {
    const { headers } = await shown.visit("chart");
    assert.ok(headers.get("etag"));
  });
});
