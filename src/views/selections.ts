import type {
  DataPointSelection,
  DeviceSelection,
  ProductSelection,
  Selection,
} from "../../store/metadata/selections.js";

export function selection({ label, value }: Selection) {
  return { label, value };
}

export function productSelection({ label, value, cloudProtocol, productIntID }: ProductSelection) {
  return { label, value, attr: { cloudProtocol, productIntID } };
}

export function deviceSelection({ label, value, deviceIntID }: DeviceSelection) {
  return { label, value, attr: { deviceIntID } };
}

/** How a data point is named in its selection: by record id, alone or with what it is, or by its string id. */
export type PointForm = "id" | "idAndAttr" | "dataPointID";

export function dataPointSelection(point: DataPointSelection, form: PointForm) {
  const { label, value, dataPointID, dataTransType, pointDataType } = point;
  if (form === "dataPointID") return { label, value: dataPointID };
  if (form === "id") return { label, value };
  return { label, value, attr: { dataTransType, enum: point.enum, pointDataType } };
}
