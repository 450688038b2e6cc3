import { z } from "@hono/zod-openapi";
import { createComputing } from "../../query/formula/computing.js";
import { instantPointsMax } from "../../query/instants.js";
import { timeWriters } from "../../query/time-text.js";
import { toSeriesKind } from "../../store/metadata/products/data-points.js";
import { backtestRule, spansMax } from "../alerts/backtest-rule.js";
import { invalid } from "../http/errors.js";
import { createBody, fixedFields, integerField, refuseChanged, textField } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { intSchema } from "../http/schemas.js";
import { checkRule, fixed, optionalRuleField, requiredRuleField } from "./alert-rule-draft.js";
import { parseChartQuery, timeOrText } from "./data-body.js";
import { readQuery } from "./data-query.js";
import type { AppDeps } from "./deps.js";

const dataFields = {
  deviceID: textField,
  deviceIntID: integerField(1),
  endTime: timeOrText,
  timezone: textField,
  timeFormat: textField,
};
const { dataPointIntID, condition, alertName } = requiredRuleField;
const body = createBody(
  { dataPointIntID, condition, startTime: timeOrText },
  { ...optionalRuleField, alertName, ...dataFields },
)
  .extend(fixedFields(fixed))
  .openapi("AlertRulePreview");

const time = z.union([z.string(), z.number()]);
const answer = z
  .object({
    spans: z.array(
      z.object({
        startTime: time,
        endTime: time.nullable().openapi({ description: "null: it would still last" }),
        alertTimes: intSchema.openapi({ description: "how many times of the values it lasted" }),
        firstValue: z.number().nullable().openapi({ description: "of the data point, when it began" }),
      }),
    ),
    points: intSchema.openapi({ description: "that were looked at" }),
    isTruncated: z.boolean(),
    leftFrom: time.nullable().openapi({ description: "where it was truncated: the first time left out" }),
  })
  .openapi("AlertRuleBacktest");

/** When a rule would have raised its alert, before it is saved. */
export function alertRulePreviewRoutes(deps: AppDeps): Route[] {
  return [
    route({
      method: "post",
      path: "/api/v1/alert_rules/preview",
      access: "read",
      tag: "Alerts",
      summary: `When a rule that is not saved would have raised its alert: the first ${spansMax} alerts, over ${instantPointsMax} points`,
      shape: { body },
      answer: { status: 200, schema: answer },
      errors: ["DATA_NOT_FOUND"],
      making: "series",
      handle: async ({ caller, body, request }) => {
        const { dataPointIntID, condition } = body;
        const point = await checkRule(deps.db, caller.tenant, { dataPointIntID, condition }, null);
        refuseChanged(body, point, fixed);
        const query = {
          ...parseChartQuery(body, [...Object.keys(dataFields), "startTime"]),
          time_unit: "real",
        };
        const { device, range, format } = await readQuery(deps, caller.tenant, query);
        if (device.productIntID !== point.productIntID) {
          throw invalid({ dataPointIntID: "must be a data point of the device's product" });
        }
        const { zone, start = 0, stop = deps.now() * 1000 } = range("real");
        if (start >= stop) throw invalid({ startTime: "the range must end after it starts" });
        const found = await backtestRule(
          deps.series.under(request.signal),
          (device, { field, pointDataType }) =>
            deps.refs.of(device, { field, kind: toSeriesKind(pointDataType) }),
          {
            rule: { dataPointIntID, condition, duration: body.duration ?? 0 },
            device,
            points: (await deps.catalog.model(device.productIntID)).points,
            range: { start, stop },
            computing: createComputing(deps.config.formulaSecondsMax),
          },
        );
        const write = (ms: number) => timeWriters[format](zone, ms * 1000);
        const spans = found.spans.map(({ startTime, endTime, ...span }) => ({
          startTime: write(startTime),
          endTime: endTime === null ? null : write(endTime),
          ...span,
        }));
        const leftFrom = found.leftFrom === null ? null : write(found.leftFrom / 1000);
        return {
          status: 200,
          body: { spans, points: found.points, isTruncated: leftFrom !== null, leftFrom },
        };
      },
    }),
  ];
}
