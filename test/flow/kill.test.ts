import { influxSuite, suite } from "../suite.js";
import { defineKillTest } from "./kill.js";

suite("kill -9, embedded store", (test) => defineKillTest(test, async () => ({})));

influxSuite("kill -9, InfluxDB", (test, influx) =>
  defineKillTest(test, async () => {
    const { url, token, org, bucket } = await influx();
    return { INFLUX_URL: url, INFLUX_TOKEN: token, INFLUX_ORG: org, INFLUX_BUCKET: bucket };
  }),
);
