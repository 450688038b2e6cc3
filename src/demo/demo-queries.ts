import type { Station } from "./station.js";

/** A query to the API: `path` is the request, which the demo prints as a curl line and also sends. */
export interface DemoQuery {
  readonly who: "dashboard" | "analyst";
  readonly asks: string;
  readonly path: string;
  /** The shape of its answer, which decides how the columns are named. */
  readonly shape: "metrics" | "original" | "alerts" | "events";
}

const year = "startTime=2010-01-01T00:00:00Z&endTime=2011-01-01T00:00:00Z";
const pacific = "timezone=America/Los_Angeles";

/** In the order in which they are asked. */
export function createDemoQueries({ deviceID, metrics }: Station): DemoQuery[] {
  const metricsData = (rest: string): string => `/api/v1/metrics_data?deviceID=${deviceID}&${rest}`;
  const metric = (name: string): string => `metricIntID=${metrics.get(name)}`;
  return [
    {
      who: "dashboard",
      asks: "What are the newest readings?",
      path: `/api/v1/original_data?deviceID=${deviceID}&limit=3`,
      shape: "original",
    },
    {
      who: "dashboard",
      asks: "How warm was each day of the first week of July?",
      path: metricsData(
        `${metric("mean °C")}&time_unit=day&startTime=2010-07-01T00:00:00Z&endTime=2010-07-08T00:00:00Z`,
      ),
      shape: "metrics",
    },
    {
      who: "dashboard",
      asks: "What does the thermometer say in Fahrenheit on the morning of the fourth?",
      path: metricsData(
        `${metric("°F")}&time_unit=real&startTime=2010-07-04T06:00:00Z&endTime=2010-07-04T11:00:00Z`,
      ),
      shape: "metrics",
    },
    {
      who: "dashboard",
      asks: "The whole year's temperature as a line of 12 points that keeps its shape?",
      path: `/api/v1/original_data?deviceID=${deviceID}&${metric("°F")}&maxPoints=12&${year}`,
      shape: "original",
    },
    {
      who: "analyst",
      asks: "Every month of the year: means, extremes, heating degree days (below 18 °C), strongest wind, hours",
      path: metricsData(`metricType=2&time_unit=month&${year}`),
      shape: "metrics",
    },
    {
      who: "analyst",
      asks: "How dense is the air, from temperature and pressure together, on a night in January?",
      path: metricsData(
        `${metric("air g/m³")}&time_unit=real&startTime=2010-01-15T00:00:00Z&endTime=2010-01-15T06:00:00Z`,
      ),
      shape: "metrics",
    },
    {
      who: "analyst",
      asks: "How many hours has each day in Seattle around the change to summer time?",
      path: metricsData(
        `${metric("hours")}&time_unit=day&${pacific}&startTime=2010-03-13T00:00:00-08:00&endTime=2010-03-16T00:00:00-07:00`,
      ),
      shape: "metrics",
    },
    {
      who: "analyst",
      asks: "And around the change back?",
      path: metricsData(
        `${metric("hours")}&time_unit=day&${pacific}&startTime=2010-11-06T00:00:00-07:00&endTime=2010-11-09T00:00:00-08:00`,
      ),
      shape: "metrics",
    },
    {
      who: "dashboard",
      asks: "When was it cold and still (below 5 °C with wind below 4 m/s), by the alert rule? The last times:",
      path: `/api/v1/history_alerts?deviceID=${deviceID}&_limit=3`,
      shape: "alerts",
    },
    {
      who: "analyst",
      asks: "What exactly did the device send last?",
      path: `/api/v1/devices/${deviceID}/events?_limit=2`,
      shape: "events",
    },
  ];
}
