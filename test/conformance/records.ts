/** The field tables of the interface ("Resources and their fields"), each form of each record. */
import {
  address,
  array,
  both,
  type Form,
  holding,
  int,
  is,
  json,
  matching,
  nothing,
  number,
  oneOf,
  orNull,
  record,
  stamp,
  text,
} from "./form.js";

type Fields = Readonly<Record<string, Form>>;

const intOrNull = orNull(int);
const textOrNull = orNull(text);
const numberOrNull = orNull(number);
const times = { createAt: stamp, updateAt: orNull(stamp) };
const fresh = { createAt: stamp, updateAt: nothing };
const withID = record({ id: int });
const createUser = { createUser: is("admin") };

function without(fields: Fields, ...names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** Label fields dropped. */
function unlabelled(fields: Fields): Fields {
  return without(fields, ...Object.keys(fields).filter((name) => name.endsWith("Label")));
}

/** Just made: never edited. Just edited: updateAt is set. */
export const made = (fields: Fields): Form => record({ ...fields, ...fresh });
export const edited = (fields: Fields): Form => record({ ...fields, updateAt: stamp });

/** A code with its display text; the pair must be one of the dictionary. */
function coded(name: string, labels: Readonly<Record<number, string>>): Fields {
  return {
    [name]: oneOf(...Object.keys(labels).map(Number)),
    [`${name}Label`]: oneOf(...Object.values(labels)),
  };
}

/** That a record's label is the text of its code. */
export function labelled(name: string, code: number | string, label: string): Form {
  return holding({ [name]: is(code), [`${name}Label`]: is(label) });
}

const protocol = { 1: "MQTT", 2: "CoAP", 3: "LwM2M", 4: "LoRa", 5: "HTTP", 6: "WebSocket", 7: "Modbus" };
const authType = coded("authType", { 1: "Token", 2: "证书" });
const deviceStatus = coded("deviceStatus", { 0: "离线", 1: "在线", 2: "休眠" });
const cloudProtocol = coded("cloudProtocol", protocol);
const descriptions = {
  manufacturer: textOrNull,
  serialNumber: textOrNull,
  softVersion: textOrNull,
  hardwareVersion: textOrNull,
  description: textOrNull,
};

// Device (Variant A)
const deviceAll = {
  id: int,
  deviceID: text,
  deviceName: text,
  deviceUsername: text,
  token: text,
  ...authType,
  blocked: oneOf(0, 1),
  ...deviceStatus,
  ...coded("deviceType", { 1: "终端", 3: "智能手机" }),
  upLinkSystem: oneOf(1, 2, 3, null),
  gateway: intOrNull,
  gatewayName: textOrNull,
  parentDevice: intOrNull,
  parentDeviceName: textOrNull,
  productID: text,
  productIntID: int,
  productName: text,
  ...cloudProtocol,
  modBusIndex: intOrNull,
  carrier: oneOf(1, 2, 3, 4, null),
  physicalNetwork: oneOf(1, 2, 3, 4, 5, 6, null),
  IMEI: textOrNull,
  IMSI: textOrNull,
  autoSub: oneOf(0, 1, null),
  ...descriptions,
  deviceConsoleIP: textOrNull,
  deviceConsolePort: intOrNull,
  deviceConsoleUsername: textOrNull,
  latitude: numberOrNull,
  longitude: numberOrNull,
  location: json,
  lora: json,
  metaData: json,
  scopes: array(json),
  clientIP: textOrNull,
  connectedAt: orNull(stamp),
  keepAlive: intOrNull,
  ...createUser,
  tenantID: text,
  userIntID: int,
  ...times,
};
const detailOnly = ["clientIP", "connectedAt", "createUser", "gatewayName", "keepAlive", "parentDeviceName"];
export const device = {
  listed: record(without(deviceAll, ...detailOnly)),
  detail: record(deviceAll),
  stored: without(unlabelled(deviceAll), "productIntID", "productName", "gatewayName", "createUser"),
};

// Device (Variant B)
const deviceBListed = {
  id: int,
  deviceID: text,
  deviceName: text,
  deviceUsername: text,
  token: text,
  authType: oneOf(1, 2),
  blocked: oneOf(0, 1),
  productID: text,
  productName: text,
  ...coded("deviceType", { 0: "终端", 1: "网关", 2: "智能手机" }),
  ...coded("status", { 0: "离线", 1: "在线" }),
  ...descriptions,
  location: textOrNull,
  tenantID: text,
  userIntID: int,
  ...times,
};
const broker = orNull(address);
const deviceBDetail = {
  ...without(deviceBListed, "productName"),
  ...createUser,
  clientIP: textOrNull,
  connectedAt: orNull(stamp),
  keepAlive: intOrNull,
  mqttBroker: broker,
  mqttsBroker: broker,
  mqttssBroker: broker,
  coapBroker: broker,
  coapsBroker: broker,
  coapssBroker: broker,
};
export const deviceB = {
  listed: record(deviceBListed),
  /** The product's name is a field of the list; a detail may hold it as well. */
  detail: holding(deviceBDetail),
  /** The answer of create and edit is not shown: at least what the body carried, and the ids. */
  stored: unlabelled(without(deviceBListed, "productName")),
};

// Gateway
const gatewayAll = {
  id: int,
  gatewayName: text,
  deviceID: text,
  deviceUsername: text,
  token: text,
  ...authType,
  blocked: oneOf(0, 1),
  ...deviceStatus,
  deviceCount: int,
  ...coded("gatewayProtocol", protocol),
  // Null for a gateway that Variant B has made: its body has no such field.
  upLinkNetwork: oneOf(1, 2, 3, 4, 5, null),
  upLinkNetworkLabel: oneOf("2G", "3G", "4G", "Wi-Fi", "NB-IoT", null),
  upLinkProtocol: oneOf(1, 2, 3, 4, 5, 6, 7, null),
  upLinkProtocolLabel: oneOf(...Object.values(protocol), null),
  mac: textOrNull,
  productID: text,
  productName: text,
  ...descriptions,
  location: json,
  deviceConsoleIP: textOrNull,
  deviceConsolePort: intOrNull,
  deviceConsoleUsername: textOrNull,
  ...createUser,
  userIntID: int,
  ...times,
};
const gatewayLabels = ["authTypeLabel", "deviceStatusLabel", "gatewayProtocolLabel"];
export const gateway = {
  listed: record(without(gatewayAll, "createUser")),
  detail: record(without(gatewayAll, "deviceCount")),
  stored: without(gatewayAll, "deviceCount", "createUser", ...gatewayLabels),
};

// Product
const productCommon = { id: int, productID: text, productName: text, description: textOrNull, ...times };
const counts = {
  appCount: intOrNull,
  dataPointCount: intOrNull,
  dataStreamCount: intOrNull,
  itemCount: intOrNull,
};
const productA = { ...productCommon, ...cloudProtocol, deviceCount: int };
const productB = { ...productCommon, deviceCount: int, devices: array(withID), userIntID: int };
export const product = {
  listed: record({ ...productA, ...counts }),
  detail: record({ ...productA, ...createUser }),
  stored: without(unlabelled(productA), "deviceCount"),
};
export const productOfB = {
  listed: record(productB),
  detail: record({ ...productB, ...createUser }),
  stored: without(productB, "deviceCount"),
};

// Group
const groupCommon = {
  id: int,
  groupID: text,
  groupName: text,
  description: textOrNull,
  productID: text,
  productName: text,
  ...times,
};
const groupB = { ...groupCommon, devices: array(withID), userIntID: int };
export const group = {
  listed: record({ ...groupCommon, deviceCount: int }),
  detail: record({ ...groupCommon, ...createUser }),
  stored: without(groupCommon, "productName"),
};
export const groupOfB = {
  listed: record(groupB),
  detail: record({ ...groupB, ...createUser }),
  stored: without(groupB, "productName"),
};

// Data point
const pointTypes = {
  1: "数值",
  3: "字符串",
  4: "故障",
  5: "布尔",
  6: "地理位置",
  11: "定长字符串",
  12: "变长字符串",
  13: "定长binary",
  14: "变长binary",
  15: "有符号整型",
  16: "无符号整型",
  17: "单精度浮点型",
  18: "双精度浮点型",
  19: "bit类型",
  21: "有符号长整型",
  22: "无符号长整型",
  23: "布尔",
  24: "时间",
  25: "浮点",
} as const;
export const pointLabels: readonly (readonly [number, string])[] = Object.entries(pointTypes).map(
  ([code, label]) => [Number(code), label],
);
const pointAll = {
  id: int,
  dataPointID: text,
  dataPointName: text,
  productID: text,
  productName: text,
  ...coded("pointDataType", pointTypes),
  ...coded("dataTransType", { 1: "只上报", 2: "只下发", 3: "可上报可下发" }),
  unitName: textOrNull,
  unitSymbol: textOrNull,
  upperLimit: numberOrNull,
  lowerLimit: numberOrNull,
  dataStep: numberOrNull,
  binarySize: intOrNull,
  faultValue: textOrNull,
  isDiscard: intOrNull,
  enum: orNull(array(record({ value: json, label: json }))),
  isLocationType: oneOf(0, 1, 2),
  locationType: oneOf(1, 2, 3, null),
  registerAddr: textOrNull,
  detail: textOrNull,
  ...createUser,
  ...times,
};
export const dataPoint = {
  listed: record(without(pointAll, "createUser")),
  detail: record(pointAll),
  stored: without(unlabelled(pointAll), "createUser", "productName"),
};

// Data stream
const streamListed = {
  id: int,
  productName: text,
  streamName: text,
  ...coded("streamType", { 1: "设备数据上报", 2: "设备数据下发", 3: "网关数据上报", 4: "网关数据下发" }),
  ...coded("streamDataType", { 1: "JSON", 2: "二进制" }),
  topic: text,
};
const streamAll = {
  ...streamListed,
  productID: text,
  dataPoints: array(int),
  dataPointNames: array(text),
  detail: textOrNull,
  userIntID: int,
  ...times,
};
export const dataStream = {
  listed: record(streamListed),
  detail: record(streamAll),
  stored: without(unlabelled(streamAll), "productName", "dataPointNames"),
};

// Metric
const metricListed = {
  id: int,
  metricName: text,
  ...coded("metricType", { 1: "公式指标", 2: "聚合指标" }),
  dataPointName: text,
};
const metricAll = {
  ...metricListed,
  dataPointIntID: int,
  aggregateType: oneOf(1, 2, 3, 4, null),
  aggregateTypeLabel: oneOf("最大值", "最小值", "平均值", "累计值", null),
  aggregateData: json,
  aggregateDataLabel: textOrNull,
  ...coded("chartType", { 1: "折线图", 2: "柱状图" }),
  expressions: textOrNull,
  isShow: oneOf(0, 1),
  productID: text,
  productItemIntID: intOrNull,
  remark: textOrNull,
  ...createUser,
  ...times,
};
const metricStored = without(unlabelled(metricAll), "createUser", "dataPointName");
export const metric = {
  listed: record(metricListed),
  detail: record(metricAll),
  stored: metricStored,
  data: record({
    ...metricStored,
    dataPointName: text,
    metricData: record({ time: array(stamp), value: array(json) }),
  }),
};
export const originalData = record({
  dataPointIntID: int,
  dataPointName: text,
  originalData: record({ time: array(stamp), value: array(json) }),
});

// Product resource
const resourceStored = {
  id: int,
  codeValue: text,
  dataPointIntID: int,
  productItemIntID: intOrNull,
  ...times,
};
export const productResource = {
  listed: record({
    ...resourceStored,
    codeValueLabel: textOrNull,
    dataPointName: text,
    itemName: textOrNull,
  }),
  stored: resourceStored,
};

// App template
const templateConsole = {
  id: int,
  templateName: text,
  templateType: int,
  templateTypeLabel: text,
  productID: text,
  productItemIntID: intOrNull,
  topic: textOrNull,
  dataPointIntID: int,
  dataPointID: text,
  dataPointName: text,
  dataStreamIntID: intOrNull,
  dataStreamName: textOrNull,
  dataTransType: int,
  enum: json,
  places: orNull(array(int)),
  instanceID: json,
  createAt: stamp,
  updateAt: orNull(stamp),
  defaultValues: array(
    record({
      id: int,
      dataPointID: text,
      dataPointName: text,
      enum: json,
      pointDataType: int,
      value: json,
    }),
  ),
};
export const appTemplate = {
  listed: record({ ...templateConsole, itemID: json, itemName: json, itemOperations: json, objectID: json }),
  console: record({ ...templateConsole, value: textOrNull }),
};

// Logs
const log = { id: int, ...fresh };
const connectLog = { ...log, deviceID: text, deviceName: text, IP: text, keepAlive: int, tenantID: text };
export const connectLogA = record({ ...connectLog, ...coded("connectStatus", { 0: "下线", 1: "上线" }) });
export const connectLogB = record({
  ...connectLog,
  ...coded("deviceStatus", { 0: "下线", 1: "上线", 2: "认证失败" }),
});
const eventCommon = { ...log, deviceID: text, IP: text, topic: text, payload: text, msgTime: stamp };
export const event = record({ ...eventCommon, deviceName: text });
export const eventWithProduct = record({ ...eventCommon, deviceName: text, productName: text });
export const gatewayEvent = record({ ...eventCommon, gatewayName: text });
const publishStatus = coded("publishStatus", { 0: "下发失败", 1: "已下发", 2: "已到达", 3: "不需要回执" });
const controlCommon = {
  id: int,
  topic: textOrNull,
  payload: text,
  ...publishStatus,
  publishUser: is("admin"),
  userIntID: int,
  ...times,
};
export const controlLog = record({ ...controlCommon, deviceIntID: int, deviceName: text });
export const groupControlLog = record({ ...controlCommon, groupID: text, groupName: text });
// publishStatus and what follows are beyond the interface's list: an operator sees whether a command arrived.
export const gatewayControlLog = record({
  ...without(controlCommon, "publishUser", "payload"),
  createUser: is("admin"),
  deviceIntID: int,
  payload: holding({}),
});

// Alert
const alert = {
  id: int,
  alertName: text,
  alertContent: text,
  ...coded("alertSeverity", { 1: "紧急", 2: "主要", 3: "次要", 4: "警告" }),
  alertTimes: int,
  alertDetail: holding({}),
  deviceID: text,
  deviceName: text,
  startTime: stamp,
  ...times,
};
export const currentAlert = record(alert);
export const historyAlert = record({ ...alert, endTime: stamp });

// Policy
const policyAll = {
  id: int,
  name: text,
  topic: text,
  ...coded("access", { 0: "发布", 1: "订阅", 2: "发布和订阅" }),
  ...coded("allow", { 0: "拒绝", 1: "允许" }),
  description: textOrNull,
  mqtt_acl: array(withID),
  userIntID: int,
  ...createUser,
  ...times,
};
export const policy = {
  listed: record(without(policyAll, "createUser")),
  detail: record(policyAll),
  stored: without(unlabelled(policyAll), "createUser", "mqtt_acl"),
};

// Certificate
const certListed = { id: int, name: text, enable: oneOf(0, 1), createAt: stamp };
export const cert = {
  listed: record(certListed),
  detail: record({
    ...certListed,
    CN: text,
    cert: matching(/^-----BEGIN CERTIFICATE-----/),
    key: matching(/^-----BEGIN (EC |RSA )?PRIVATE KEY-----/),
    root: matching(/^-----BEGIN CERTIFICATE-----/),
    ...createUser,
    updateAt: orNull(stamp),
  }),
};

export const subscription = record({ id: int, topic: text, qos: oneOf(0, 1, 2), ...times });
export const subscriptionNew = both(subscription, holding({ updateAt: nothing }));
/** A relative path of the form `/task_status/<task_id>`. */
export const accepted = record({ statusUrl: matching(/^\/task_status\/[\w-]+$/) });
export const taskStatus = holding({
  state: oneOf("PENDING", "STARTED", "PROGRESS", "SUCCESS", "FAILURE"),
  current: number,
  msg: json,
});
