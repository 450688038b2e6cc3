/** The rules of time zones as the API shows them; which names are zones, wherever one is asked for. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConfigError, readConfig } from "../../src/config/config.js";
import { useTimeZones } from "../../store/time-zones/in-use.js";
import { packedTimeZones } from "../../store/time-zones/packed.js";
import { documentBody } from "../dashboards/documents.js";
import { makeDataPoint, makeDevice, makeMetric, makeProduct, unique } from "../factories.js";
import { tzif } from "../store/time-zones/tzif.js";
import { assert } from "../suite.js";
import { type Rec, type Reply, refused, worldSuite } from "../world.js";

const path = "/api/v1/timezones";

worldSuite("time zones", (test, world) => {
  /** Slashes as they are, which the reference cannot describe. */
  const plain = async (name: string): Promise<Rec> => {
    const headers = { Authorization: `Bearer ${world.first.apiKey}` };
    return (await (await fetch(`${world.http}${path}/${name}`, { headers })).json()) as Rec;
  };
  const ruled = (name: string) => world.call("GET", `${path}/${encodeURIComponent(name)}`);
  const mendOf = (reply: Reply, field = "timezone"): string => {
    refused(reply, "PARAMETER_INVALID", field);
    return reply.failure.errors[field] ?? "";
  };

  test("names and version", async () => {
    const { version, source, items } = (await world.call("GET", path)).record;
    assert.equal([version, source], [packedTimeZones().version, "built-in"]);
    const names = items as string[];
    assert.ok(names.length > 590);
    for (const name of ["UTC", "Asia/Shanghai", "America/Argentina/Ushuaia", "EST", "PRC"]) {
      assert.ok(names.includes(name), name);
    }
    for (const name of ["CST", "Factory", "right/UTC"]) assert.not.ok(names.includes(name), name);
    refused(await world.call("GET", path, undefined, { key: null }), "AUTH_FAILED");
  });

  test("the changes of a zone, by its name in any spelling of a path", async () => {
    const berlin = (await ruled("Europe/Berlin")).record;
    for (const name of ["Europe/Berlin", "europe/berlin", "Europe%2fBERLIN"]) {
      assert.equal(await plain(name), berlin, name);
    }
    assert.equal(
      [berlin.name, berlin.offset, berlin.version],
      ["Europe/Berlin", 3208, packedTimeZones().version],
    );
    const changes = berlin.changes as { time: number; offset: number }[];
    const in2026 = changes.filter(({ time }) => new Date(time).getUTCFullYear() === 2026);
    assert.equal(in2026, [
      { time: Date.UTC(2026, 2, 29, 1), offset: 7200 },
      { time: Date.UTC(2026, 9, 25, 1), offset: 3600 },
    ]);
    assert.equal(changes[0], { time: Date.UTC(1893, 2, 31, 23, 6, 32), offset: 3600 });
    assert.is(new Date(changes.at(-1)?.time ?? 0).getUTCFullYear(), 2100);
    assert.is((await plain("America/Argentina/Ushuaia")).name, "America/Argentina/Ushuaia");
  });

  test("offsets are zones without changes", async () => {
    for (const name of ["+05:45", "%2B05:45", "%2b05%3A45"]) {
      const { version: _, ...zone } = (await world.call("GET", `${path}/${name}`)).record;
      assert.equal(zone, { name: "+05:45", offset: 20_700, changes: [] });
    }
  });

  test("what is no zone is not found, and the answer says what to write", async () => {
    const abbreviated = await ruled("CST");
    refused(abbreviated, "DATA_NOT_FOUND", "name");
    assert.match(abbreviated.failure.errors.name ?? "", /America\/Chicago or Asia\/Shanghai/);
    for (const name of ["Europe", "Europe/Berlin/", "Mars/Olympus", "%00", "..%2Fme", "x".repeat(3000)]) {
      refused(await world.call("GET", `${path}/${name}`), "DATA_NOT_FOUND");
    }
    refused(await world.call("POST", `${path}/UTC`, {}), "METHOD_NOT_ALLOWED");
    refused(await world.call("GET", `${path}/UTC`, undefined, { key: null }), "AUTH_FAILED");
  });

  test("abbreviations are refused wherever a zone is asked for", async () => {
    const product = await makeProduct(world);
    const point = await makeDataPoint(world, product, { dataPointID: "t" });
    const metric = await makeMetric(world, product, point);
    const device = await makeDevice(world, product);
    const of = `deviceID=${device.deviceID}`;
    const questions = [
      `metrics_data?${of}&metricIntID=${metric.id}&time_unit=day`,
      `original_data?${of}`,
      `device_track?${of}`,
      `devices/${device.id}/live?`,
      `history_alerts?startTime=2026-01-01 00:00:00`,
      `devices/${device.id}/events?startTime=2026-01-01 00:00:00`,
    ];
    for (const abbreviation of ["BST", "CST", "IST"]) {
      for (const question of questions) {
        const answer = await world.call(
          "GET",
          `/api/v1/${question}&timezone=${abbreviation}`.replace("?&", "?"),
        );
        assert.match(mendOf(answer), /name a place/, question);
      }
    }
    const contact = await world.make("/api/v1/contact_points", {
      name: unique("contact"),
      type: "webhook",
      settings: { url: "https://hooks.example.com/a" },
    });
    const route = { name: unique("route"), contactPoints: [contact.id], timezone: "CST" };
    const refusal = await world.call("POST", "/api/v1/alert_routes", route);
    assert.match(mendOf(refusal), /America\/Chicago or Asia\/Shanghai/);
    const offset = await world.make("/api/v1/alert_routes", { ...route, timezone: "+05:45" });
    assert.is(offset.timezone, "+05:45");
    for (const fields of [
      { timezone: "CST" },
      { variables: [{ name: "z", label: "", type: "timezone", value: "CST" }] },
    ]) {
      const document = documentBody([], { variables: [], ...fields });
      const reply = await world.call("POST", "/api/v1/dashboards", { name: unique("board"), document });
      refused(reply, "PARAMETER_INVALID");
      assert.match(reply.text, /America\/Chicago or Asia\/Shanghai/);
    }
  });

  test("a share carries the rules of its zone, and those of another that its visitor asks for", async () => {
    const document = documentBody([], { variables: [], timezone: "America/Edmonton" });
    const dashboard = await world.make("/api/v1/dashboards", { name: unique("board"), document });
    const { token } = await world.make(`/api/v1/dashboards/${dashboard.id}/shares`, {
      name: unique("share"),
    });
    const visit = (query = "") =>
      world.call("GET", `/api/v1/shared${query}`, undefined, {
        key: null,
        headers: { Authorization: `Share ${token}` },
      });
    const rulesOf = async (name: string) => {
      const { version: _, ...rules } = (await ruled(name)).record;
      return rules;
    };
    const own = (await visit()).record;
    assert.equal([own.timezone, own.zone], ["America/Edmonton", await rulesOf("America/Edmonton")]);
    assert.equal((await visit("?timezone=asia/tokyo")).record.zone as Rec, await rulesOf("Asia/Tokyo"));
    refused(await visit("?timezone=CST"), "PARAMETER_INVALID", "timezone");
  });
});

const folder = mkdtempSync(join(tmpdir(), "zones-"));
writeFileSync(join(folder, "UTC"), tzif({}));
// A clock that goes forward by 37 minutes in the middle of 2026.
const middle = Date.UTC(2026, 6, 1) / 1000;
writeFileSync(join(folder, "Mars"), tzif({ times: [middle], indices: [1], offsets: [0, 2220], footer: "" }));

worldSuite(
  "time zones of TIMEZONE_DATA",
  (test, world) => {
    test.after(() => {
      useTimeZones(packedTimeZones());
      rmSync(folder, { recursive: true });
    });

    test("windows go by the folder's rules, and the service says whose they are", async () => {
      assert.equal((await world.call("GET", path)).record, {
        version: null,
        source: "TIMEZONE_DATA",
        items: ["Mars", "UTC"],
      });
      const health = (await world.call("GET", "/healthz", undefined, { key: null })).record.timezones;
      const warning = "the version of the time zone rules is not known";
      assert.equal(health, { version: null, source: "TIMEZONE_DATA", warning });
      assert.match(
        (await world.call("GET", "/metrics")).text,
        /^tidemark_build_info\{.*timezones="unknown"\} 1$/m,
      );
      const product = await makeProduct(world);
      const point = await makeDataPoint(world, product, { dataPointID: "t" });
      const metric = await makeMetric(world, product, point);
      const device = await makeDevice(world, product);
      const query = `deviceID=${device.deviceID}&metricIntID=${metric.id}&time_unit=hour&timezone=Mars&timeFormat=ms`;
      const range = "startTime=2026-06-30 22:00:00&endTime=2026-07-01 02:00:00";
      const answer = await world.call("GET", `/api/v1/metrics_data?${query}&${range}`);
      const [{ metricData }] = answer.list as unknown as [{ metricData: { time: number[] } }];
      const minutes = metricData.time.map((time) => (time / 1000 - middle) / 60);
      // The hour from midnight is no more than a part: the clock shows 00:37 when it begins.
      assert.equal(minutes, [-120, -60, 0, 23]);
      refused(await world.call("GET", `${path}/PRC`), "DATA_NOT_FOUND");
      const csv = `deviceID,dataPointID,time,value\n${device.deviceID},t,2026-07-01 01:00:00,1\n`;
      assert.is(
        (await world.call("POST", "/api/v1/original_data", csv, { headers: { "Content-Type": "text/csv" } }))
          .status,
        202,
      );
    });
  },
  { TIMEZONE_DATA: folder, TIMEZONE: "mars" },
);

worldSuite("settings of time zones", (test) => {
  const problems = (settings: Readonly<Record<string, string>>): readonly string[] => {
    try {
      readConfig(settings);
    } catch (error) {
      return (error as ConfigError).problems;
    }
    return [];
  };

  test("names that are none, and folders that hold no rules", () => {
    assert.is(readConfig({ TIMEZONE: "asia/shanghai" }).timezone, "Asia/Shanghai");
    assert.is(readConfig({ TIMEZONE: "-03:30" }).timezone, "-03:30");
    assert.match(
      problems({ TIMEZONE: "BST" })[0] ?? "",
      /^TIMEZONE: BST is not .* Asia\/Dhaka or Europe\/London$/,
    );
    assert.match(problems({ TIMEZONE: "Mars" })[0] ?? "", /^TIMEZONE: Mars is not an IANA time zone/);
    assert.match(
      problems({ TIMEZONE_DATA: "/nowhere" })[0] ?? "",
      /^TIMEZONE_DATA: \/nowhere is no zoneinfo folder/,
    );
    const both = problems({ TIMEZONE: "CST", LIBSQL_URL: "file:x" });
    assert.equal(
      both.map((line) => line.split(":")[0]),
      ["MASTER_KEY", "TIMEZONE"],
    );
  });
});
