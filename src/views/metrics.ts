import type { Metric } from "../../store/metadata/products/metrics.js";
import { label } from "../http/labels.js";
import type { Stamped } from "./context.js";

export function metricListed(metric: Metric) {
  return {
    id: metric.id,
    metricName: metric.metricName,
    metricType: metric.metricType,
    metricTypeLabel: label("metricType", metric.metricType),
    dataPointName: metric.dataPointName,
  };
}

export function metricStored(metric: Metric, context: Stamped) {
  return {
    id: metric.id,
    metricName: metric.metricName,
    metricType: metric.metricType,
    dataPointIntID: metric.dataPointIntID,
    aggregateType: metric.aggregateType,
    aggregateData: metric.aggregateData,
    chartType: metric.chartType,
    expressions: metric.expressions,
    isShow: metric.isShow,
    productID: metric.productID,
    productItemIntID: metric.productItemIntID,
    remark: metric.remark,
    createAt: context.stamp(metric.createAt),
    updateAt: context.stamp(metric.updateAt),
  };
}

export function metricDetail(metric: Metric, context: Stamped) {
  return {
    ...metricStored(metric, context),
    metricTypeLabel: label("metricType", metric.metricType),
    dataPointName: metric.dataPointName,
    aggregateTypeLabel: label("aggregateType", metric.aggregateType),
    aggregateDataLabel: label("aggregateData", metric.aggregateData),
    chartTypeLabel: label("chartType", metric.chartType),
    createUser: metric.createUser,
  };
}

/** A metric as metrics_data shows it: the stored fields and the name of its data point. */
export function metricOfData(metric: Metric, context: Stamped) {
  return { ...metricStored(metric, context), dataPointName: metric.dataPointName };
}
