/** The InfluxDBs that have the points, as settings name them. */
import { ConfigError, readConfig } from "../../src/config/config.js";
import { assert, suite } from "../suite.js";

const shared = { LIBSQL_URL: "file:/tmp/x.db", MASTER_KEY: "a".repeat(64), INFLUX_ORG: "o" };
const two = { CLUSTER_NODES: "1@a:7400,2@b:7400,3@c:7400", NODE_NUMBER: "1" };

const influxOf = (environment: Readonly<Record<string, string>>) =>
  readConfig({ ...shared, INFLUX_TOKEN: "t", ...environment }).influx;

function problems(environment: Readonly<Record<string, string>>): readonly string[] {
  try {
    influxOf(environment);
    return [];
  } catch (error) {
    assert.instance(error, ConfigError);
    return (error as ConfigError).problems;
  }
}

suite("a list of InfluxDBs", (test) => {
  test("one, or one for each of some shards, with a token for all or for each", () => {
    assert.equal(influxOf({ INFLUX_URL: "http://a:8086", INFLUX_TOKEN: "x,y" }), {
      servers: [{ url: "http://a:8086", token: "x,y" }],
      org: "o",
      bucket: "tidemark",
    });
    const list = { INFLUX_URL: "http://a:8086, https://b/influx", ...two };
    assert.equal(influxOf(list)?.servers, [
      { url: "http://a:8086", token: "t" },
      { url: "https://b/influx", token: "t" },
    ]);
    assert.equal(
      influxOf({ ...list, INFLUX_TOKEN: "x, y" })?.servers.map(({ token }) => token),
      ["x", "y"],
    );
    const topic = { JOURNAL_URL: "kafka://k", INFLUX_URL: "http://a,http://b" };
    assert.is(influxOf({ ...topic, JOURNAL_SHARDS: "2" })?.servers.length, 2);
  });

  test("each fault is a line that names its setting", () => {
    const malformed = ["a:8086", "ftp://a", "http://a,", ",http://a", "http://a,b:1", "http://"];
    for (const INFLUX_URL of malformed)
      assert.equal(
        problems({ INFLUX_URL, ...two }),
        ["INFLUX_URL: must be http:// or https:// addresses, separated by commas"],
        INFLUX_URL,
      );
    const INFLUX_URL = "http://a:1,http://b:1";
    assert.equal(problems({ INFLUX_URL }), [
      "INFLUX_URL: names 2 InfluxDBs, and the journal is a single shard: each takes the points of one at least",
    ]);
    assert.equal(problems({ INFLUX_URL, JOURNAL_URL: "kafka://k", JOURNAL_SHARDS: "1" }).length, 1);
    assert.equal(problems({ INFLUX_URL: `${INFLUX_URL},http://c,http://d`, ...two }), [
      "INFLUX_URL: names 4 InfluxDBs, and the journal has 3 shards: each takes the points of one at least",
    ]);
    assert.equal(problems({ INFLUX_URL: "http://a:80,HTTP://A", ...two }), [
      "INFLUX_URL: names an address twice",
    ]);
    for (const url of ["http://u:secret@a", "http://u@a", "http://:secret@a"])
      assert.equal(problems({ INFLUX_URL: `http://b,${url}`, ...two }), [
        "INFLUX_URL: must have no user and no password in a list: the log and /readyz name its addresses",
      ]);
    assert.equal(problems({ INFLUX_URL: "http://u:secret@a", ...two }), []);
    for (const INFLUX_TOKEN of ["x,y,z", "x,", ","])
      assert.equal(problems({ INFLUX_URL, INFLUX_TOKEN, ...two }), [
        "INFLUX_TOKEN: must be one token, or 2 separated by commas, one for each InfluxDB",
      ]);
  });
});
