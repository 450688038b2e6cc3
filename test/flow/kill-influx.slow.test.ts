import { influxSuite } from "../suite.js";
import { defineKillTest } from "./kill.js";

influxSuite("kill -9, InfluxDB", (test, influx) =>
  defineKillTest(test, async () => {
    const { url, token, org, bucket } = await influx();
    return { INFLUX_URL: url, INFLUX_TOKEN: token, INFLUX_ORG: org, INFLUX_BUCKET: bucket };
  }),
);
