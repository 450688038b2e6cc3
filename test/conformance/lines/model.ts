import { both, empty, error, type Form, holding, is, nothing, page, pageOf, some } from "../form.js";
import { type Line, lines } from "../line.js";
import {
  appTemplate,
  dataPoint,
  dataStream,
  edited,
  labelled,
  made,
  metric,
  originalData,
  pointLabels,
  productResource,
} from "../records.js";

const point = {
  dataPointName: "point-{unique}",
  dataPointID: "p{unique}",
  productIntID: "{product.id}",
  pointDataType: 1,
  dataTransType: 1,
};
const ownPoint = { as: "own", call: "POST /data_points", body: point };
const stream = {
  productIntID: "{product.id}",
  streamName: "stream-{unique}",
  topic: "topic-{unique}",
  streamType: 1,
  streamDataType: 1,
  dataPoints: ["{point.id}"],
};
const ownStream = { as: "own", call: "POST /data_streams", body: stream };
const metricBody = {
  chartType: 2,
  metricName: "metric-{unique}",
  dataPointIntID: "{point.id}",
  isShow: 0,
  aggregateType: 1,
  expressions: "dataPoint * 2",
  expressionsLabel: "twice",
};
const ownMetric = { as: "own", call: "POST /metrics", body: metricBody };
const resource = {
  codeValue: "softVersion",
  dataPointIntID: "{point.id}",
  productIntID: "{product.id}",
  productItemIntID: 0,
};
const numbers = { upperLimit: "40.5", lowerLimit: "-5", dataStep: "0.5" };

/** What else a type needs on create. */
const needed: Readonly<Record<number, object>> = {
  4: { faultValue: "E1", isDiscard: 1 },
  11: { binarySize: 8 },
  13: { binarySize: 8 },
};

const types = pointLabels.map(([code, label]): Line => {
  const modbus = code > 20;
  const fields = modbus
    ? { productIntID: "{modbus.id}", registerAddr: "40001", binarySize: 1 }
    : needed[code];
  return {
    says: `pointDataType ${code} is ${label}`,
    in: "A",
    given: [{ as: "own", call: "POST /data_points", body: { ...point, pointDataType: code, ...fields } }],
    call: "GET /data_points/{own.id}",
    status: 200,
    answer: both(dataPoint.detail, labelled("pointDataType", code, label)),
  };
});

const transTypes = [
  [1, "只上报"],
  [2, "只下发"],
  [3, "可上报可下发"],
] as const;

function requires(call: string, body: object, fields: readonly string[]): Line[] {
  return fields.map((field) => ({
    says: `${call} requires ${field}`,
    in: "AB",
    call,
    body: { ...body, [field]: undefined },
    status: 400,
    answer: error("PARAMETER_INVALID", field),
  }));
}

export const dataPointLines = lines("Data points", [
  {
    says: "page of data points of a product",
    in: "AB",
    call: "GET /data_points?productID={product.productID}&_page=1&_limit=5",
    status: 200,
    answer: page(dataPoint.listed),
  },
  { says: "detail", in: "AB", call: "GET /data_points/{point.id}", status: 200, answer: dataPoint.detail },
  {
    says: "create; numbers may arrive as strings and are stored as numbers",
    in: "AB",
    call: "POST /data_points",
    body: { ...point, ...numbers, unitName: "u", unitSymbol: "v", detail: "remark" },
    status: 201,
    answer: both(
      made(dataPoint.stored),
      holding({ upperLimit: is(40.5), lowerLimit: is(-5), dataStep: is(0.5), detail: is("remark") }),
    ),
  },
  {
    says: "location of a point",
    in: "AB",
    call: "POST /data_points",
    body: { ...point, isLocationType: 1, locationType: 2, enum: [] },
    status: 201,
    answer: holding({ isLocationType: is(1), locationType: is(2) }),
  },
  {
    says: "enum entries",
    in: "AB",
    call: "POST /data_points",
    body: { ...point, enum: [{ value: 1, label: "on" }] },
    status: 201,
    answer: holding({ enum: some(holding({ value: is(1), label: is("on") })) }),
  },
  ...requires("POST /data_points", point, [
    ...["dataPointName", "dataPointID", "productIntID", "pointDataType", "dataTransType"],
  ]),
  ...requires("POST /data_points", { ...point, pointDataType: 4 }, ["faultValue"]),
  ...requires("POST /data_points", { ...point, productIntID: "{modbus.id}" }, ["registerAddr"]),
  ...types,
  ...transTypes.map(
    ([code, label]): Line => ({
      says: `dataTransType ${code} is ${label}`,
      in: "A",
      given: [{ as: "own", call: "POST /data_points", body: { ...point, dataTransType: code } }],
      call: "GET /data_points/{own.id}",
      status: 200,
      answer: labelled("dataTransType", code, label),
    }),
  ),
  {
    says: "edit takes the record as read",
    in: "AB",
    given: [ownPoint, { as: "read", call: "GET /data_points/{own.id}" }],
    call: "PUT /data_points/{own.id}",
    body: { "...": "{read}", dataPointName: "renamed-{unique}", upperLimit: 9 },
    status: 200,
    answer: both(edited(dataPoint.stored), holding({ upperLimit: is(9), lowerLimit: nothing })),
  },
  {
    says: "delete",
    in: "AB",
    given: [ownPoint],
    call: "DELETE /data_points?ids={own.id}",
    status: 204,
    answer: empty,
  },
]);

export const dataStreamLines = lines("Data streams", [
  {
    says: "page of data streams of a product",
    in: "AB",
    call: "GET /data_streams?productID={product.productID}&_page=1&_limit=5",
    status: 200,
    answer: page(dataStream.listed),
  },
  {
    says: "detail with the ids and names of its points, in order",
    in: "AB",
    call: "GET /data_streams/{stream.id}",
    status: 200,
    answer: both(dataStream.detail, holding({ dataPointNames: some(matchingName) })),
  },
  {
    says: "labels of codes",
    in: "AB",
    call: "GET /data_streams/{stream.id}",
    status: 200,
    answer: both(labelled("streamType", 1, "设备数据上报"), labelled("streamDataType", 1, "JSON")),
  },
  {
    says: "create through the data point path",
    in: "AB",
    call: "POST /data_points",
    body: stream,
    status: 201,
    answer: made(dataStream.stored),
  },
  {
    says: "create",
    in: "AB",
    call: "POST /data_streams",
    body: { ...stream, streamDataType: 2, streamType: 2 },
    status: 201,
    answer: made(dataStream.stored),
  },
  {
    says: "gateway streams need a product with a gateway",
    in: "AB",
    call: "POST /data_streams",
    body: { ...stream, productIntID: "{coap.id}", dataPoints: [], streamType: 3 },
    status: 400,
    answer: error("PARAMETER_INVALID", "streamType"),
  },
  {
    says: "gateway streams",
    in: "A",
    given: [{ as: "own", call: "POST /data_streams", body: { ...stream, streamType: 4, streamDataType: 2 } }],
    call: "GET /data_streams/{own.id}",
    status: 200,
    answer: both(labelled("streamType", 4, "网关数据下发"), labelled("streamDataType", 2, "二进制")),
  },
  {
    says: "edit through the data point path",
    in: "AB",
    given: [ownStream, { as: "read", call: "GET /data_streams/{own.id}" }],
    call: "PUT /data_points/{own.id}",
    body: { "...": "{read}", streamName: "renamed-{unique}" },
    status: 200,
    answer: edited(dataStream.stored),
  },
  {
    says: "delete through the data point path",
    in: "AB",
    given: [ownStream],
    call: "DELETE /data_points?ids={own.id}",
    status: 204,
    answer: empty,
  },
]);

function matchingName(value: unknown, at: string): readonly string[] {
  return typeof value === "string" && value.startsWith("point ") ? [] : [`${at} is no point's name`];
}

export const metricLines = lines("Metrics", [
  {
    says: "page of metrics of a product",
    in: "AB",
    call: "GET /metrics?productID={product.productID}&_page=1&_limit=5",
    status: 200,
    answer: page(metric.listed),
  },
  {
    says: "detail of a formula",
    in: "AB",
    call: "GET /metrics/{formula.id}",
    status: 200,
    answer: both(
      metric.detail,
      both(labelled("metricType", 1, "公式指标"), labelled("chartType", 1, "折线图")),
    ),
  },
  {
    says: "detail of an aggregate",
    in: "AB",
    call: "GET /metrics/{aggregate.id}",
    status: 200,
    answer: both(
      metric.detail,
      both(labelled("metricType", 2, "聚合指标"), labelled("aggregateType", 3, "平均值")),
    ),
  },
  ...(
    [
      [1, "最大值"],
      [2, "最小值"],
      [3, "平均值"],
      [4, "累计值"],
    ] as const
  ).map(
    ([code, label]): Line => ({
      says: `aggregateType ${code} is ${label}; chartType 2 is 柱状图; aggregateData 1 is 公式值`,
      in: "A",
      given: [
        {
          as: "own",
          call: "POST /metrics",
          body: { ...metricBody, metricType: 2, aggregateType: code, aggregateData: 1 },
        },
      ],
      call: "GET /metrics/{own.id}",
      status: 200,
      answer: both(
        labelled("aggregateType", code, label),
        both(labelled("chartType", 2, "柱状图"), labelled("aggregateData", 1, "公式值")),
      ),
    }),
  ),
  {
    says: "create answers the record without labels",
    in: "AB",
    call: "POST /metrics",
    body: metricBody,
    status: 201,
    answer: both(made(metric.stored), holding({ isShow: is(0), chartType: is(2) })),
  },
  {
    says: "edit takes the record as read, with expressionsLabel and dataStreamIntID",
    in: "AB",
    given: [ownMetric, { as: "read", call: "GET /metrics/{own.id}" }],
    call: "PUT /metrics/{own.id}",
    body: {
      "...": "{read}",
      metricName: "renamed-{unique}",
      expressionsLabel: "x",
      dataStreamIntID: "{stream.id}",
    },
    status: 200,
    answer: edited(metric.stored),
  },
  {
    says: "delete",
    in: "AB",
    given: [ownMetric],
    call: "DELETE /metrics?ids={own.id}",
    status: 204,
    answer: empty,
  },
]);

const values = (form: Form) => holding({ metricData: holding({ value: some(form) }) });

export const dataLines = lines("Device metrics and raw data", [
  {
    says: "raw points",
    in: "AB",
    call: "GET /original_data?deviceID=bench-1&metricType=2&time_unit=day",
    status: 200,
    answer: some(both(originalData, holding({ originalData: holding({ time: some(anything) }) }))),
  },
  {
    says: "formula metrics with metricData",
    in: "AB",
    call: "GET /metrics_data?deviceID=bench-1&metricType=1",
    status: 200,
    answer: some(both(metric.data, values(anything))),
  },
  {
    says: "aggregate metrics with metricData",
    in: "AB",
    call: "GET /metrics_data?deviceID=bench-1&metricType=2&time_unit=day",
    status: 200,
    answer: some(both(metric.data, values(anything))),
  },
  {
    says: "an unknown device",
    in: "AB",
    call: "GET /metrics_data?deviceID=nosuch&metricType=1",
    status: 404,
    answer: error("DATA_NOT_FOUND"),
  },
]);

function anything(): readonly string[] {
  return [];
}

export const resourceLines = lines("Product resources and app templates", [
  {
    says: "page of resources",
    in: "AB",
    call: "GET /product_resources?productID={product.productID}&_page=1&_limit=5",
    status: 200,
    answer: page(productResource.listed),
  },
  {
    says: "label of the code",
    in: "AB",
    call: "GET /product_resources?productID={product.productID}&codeValue=serialNumber",
    status: 200,
    answer: page(both(productResource.listed, holding({ codeValueLabel: is("序列号"), itemName: nothing }))),
  },
  {
    says: "create; productIntID is a numeric string",
    in: "A",
    call: "POST /product_resources",
    body: { ...resource, productIntID: "{product.text}" },
    status: 201,
    answer: both(made(productResource.stored), holding({ productItemIntID: nothing })),
  },
  {
    says: "delete",
    in: "A",
    given: [
      { as: "own", call: "POST /product_resources", body: { ...resource, codeValue: "hardwareVersion" } },
    ],
    call: "DELETE /product_resources?ids={own.id}",
    status: 204,
    answer: empty,
  },
  {
    says: "page of app templates",
    in: "AB",
    call: "GET /app_templates?productID={product.productID}",
    status: 200,
    answer: page(both(appTemplate.listed, labelled("templateType", 1, "开关"))),
  },
  {
    says: "templates of a device, with value",
    in: "AB",
    call: "GET /device_consoles/{device.id}",
    status: 200,
    answer: pageOf(1, both(appTemplate.console, holding({ value: is("22") }))),
  },
  {
    says: "templates of a device that never spoke",
    in: "AB",
    call: "GET /device_consoles/{lonely.id}",
    status: 200,
    answer: pageOf(1, both(appTemplate.console, holding({ value: nothing }))),
  },
  {
    says: "delete a template",
    in: "AB",
    given: [
      {
        as: "own",
        call: "POST /app_templates",
        body: {
          templateName: "t-{unique}",
          templateType: 1,
          productIntID: "{product.id}",
          dataPointIntID: "{point.id}",
        },
      },
    ],
    call: "DELETE /app_templates?ids={own.id}",
    status: 204,
    answer: empty,
  },
]);
