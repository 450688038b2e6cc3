import type { Metric } from "../../store/metadata/products/metrics.js";
import type { Labelled } from "./context.js";

export function metricListed(metric: Metric, context: Labelled) {
  return {
    id: metric.id,
    metricName: metric.metricName,
    metricType: metric.metricType,
    metricTypeLabel: context.label("metricType", metric.metricType),
    dataPointName: metric.dataPointName,
  };
}

export function metricStored(metric: Metric, context: Labelled) {
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

export function metricDetail(metric: Metric, context: Labelled) {
  return {
    ...metricStored(metric, context),
    metricTypeLabel: context.label("metricType", metric.metricType),
    dataPointName: metric.dataPointName,
    aggregateTypeLabel: context.label("aggregateType", metric.aggregateType),
    aggregateDataLabel: context.label("aggregateData", metric.aggregateData),
    chartTypeLabel: context.label("chartType", metric.chartType),
    createUser: metric.createUser,
  };
}

/** A metric as metrics_data shows it: the stored fields and the name of its data point. */
export function metricOfData(metric: Metric, context: Labelled) {
  return { ...metricStored(metric, context), dataPointName: metric.dataPointName };
}
