/** The resources that are lists with forms: what is shown of each, and what may be done with it. */
import type { TextKey } from "../texts/texts.js";

export type Row = Readonly<Record<string, unknown>> & { readonly id: number };

export interface Resource {
  /** Of the API, below /api/v1. */
  readonly path: string;
  /** Of the forms: the name of their schemas. Null: nothing is made or edited. */
  readonly form: string | null;
  readonly title: TextKey;
  /** Fields of a row, in their order; the first names the record. */
  readonly columns: readonly string[];
  /** The field by whose text the list is searched. */
  readonly search?: string;
  /** Where a record has a page of its own. */
  readonly page?: (row: Row) => string;
  /** The right that changes need; absent: write. */
  readonly right?: "write" | "admin" | "command";
  readonly canDelete: boolean;
  /** Where it is deleted, if that is not where it is listed. */
  readonly deletePath?: string;
  /** Made and deleted, and never changed. */
  readonly isFixed?: true;
  /** Fields that name other records. */
  readonly references?: Readonly<Record<string, Reference>>;
}

/** Records that are chosen from: which of their fields is the value, and which is read. */
export interface Reference {
  readonly path: string;
  readonly value: string;
  readonly label: string;
  /** Narrows what is chosen from. */
  readonly scope?: Readonly<Record<string, string | number>>;
}

const product: Reference = { path: "/products", value: "productID", label: "productName" };
const productRecord: Reference = { ...product, value: "id" };
const dataPoint: Reference = { path: "/data_points", value: "id", label: "dataPointName" };
const gateway: Reference = { path: "/gateways", value: "id", label: "gatewayName" };
export const device: Reference = { path: "/devices", value: "id", label: "deviceName" };
export const policy: Reference = { path: "/policies", value: "id", label: "name" };
export const cert: Reference = { path: "/certs", value: "id", label: "name" };
const group: Reference = { path: "/groups", value: "id", label: "groupName" };

const ofProducts = {
  products: {
    path: "/products",
    form: "Product",
    title: "nav.products",
    columns: ["productName", "productID", "cloudProtocol", "deviceCount", "dataPointCount", "createAt"],
    search: "productName",
    page: ({ id }) => `/products/${id}`,
    canDelete: true,
  },
  groups: {
    path: "/groups",
    form: "Group",
    title: "title.groups",
    columns: ["groupName", "groupID", "productName", "deviceCount", "createAt"],
    search: "groupName",
    page: ({ id }) => `/groups/${id}`,
    canDelete: true,
    references: { productID: product },
  },
  dataPoints: {
    path: "/data_points",
    form: "DataPoint",
    title: "title.dataPoints",
    columns: [
      ...["dataPointName", "dataPointID", "pointDataType", "dataTransType"],
      ...["unitSymbol", "lowerLimit", "upperLimit"],
    ],
    search: "dataPointName",
    canDelete: true,
    references: { productID: product },
  },
  dataStreams: {
    path: "/data_streams",
    form: "DataStream",
    title: "title.dataStreams",
    columns: ["streamName", "topic", "streamType", "streamDataType"],
    search: "streamName",
    canDelete: true,
    references: { productID: product },
  },
  metrics: {
    path: "/metrics",
    form: "Metric",
    title: "title.metrics",
    columns: ["metricName", "metricType", "dataPointName"],
    search: "metricName",
    canDelete: true,
    references: { dataPointIntID: dataPoint },
  },
  productResources: {
    path: "/product_resources",
    form: "ProductResource",
    title: "title.productResources",
    columns: ["codeValue", "dataPointName", "createAt"],
    canDelete: true,
    references: { dataPointIntID: dataPoint },
  },
  appTemplates: {
    path: "/app_templates",
    form: "AppTemplate",
    title: "title.appTemplates",
    columns: ["templateName", "templateType", "topic", "dataPointName"],
    canDelete: true,
    references: { productID: product, dataPointIntID: dataPoint },
  },
} as const satisfies Readonly<Record<string, Resource>>;

const ofSchedule = [
  ...(["scheduleType", "crontabTime", "IntervalMinute", "crontab"] as const),
  ...(["topic", "payload", "createUser"] as const),
] as const;

const schedules = {
  path: "/schedule_publish",
  form: "Schedule",
  search: "scheduleName",
  right: "command",
  canDelete: true,
  isFixed: true,
} as const;

const ofDevices = {
  devices: {
    path: "/devices",
    form: "Device",
    title: "nav.devices",
    columns: ["deviceName", "deviceID", "productName", "deviceStatus", "createAt"],
    search: "deviceName",
    page: ({ id }) => `/devices/${id}`,
    canDelete: true,
    references: { productID: product, gateway, parentDevice: device },
  },
  gateways: {
    path: "/gateways",
    form: "Gateway",
    title: "title.gateways",
    columns: ["gatewayName", "deviceID", "productName", "deviceStatus", "deviceCount"],
    search: "gatewayName",
    canDelete: true,
    references: { productID: product },
  },
  controlLogs: {
    path: "/device_control_logs",
    form: null,
    title: "title.controlLogs",
    columns: ["deviceName", "topic", "payload", "publishStatus", "publishUser", "createAt"],
    search: "deviceName",
    canDelete: false,
  },
  deviceSchedules: {
    ...schedules,
    title: "title.deviceSchedules",
    columns: ["scheduleName", "deviceName", ...ofSchedule],
    deletePath: "/device_schedule_publish",
  },
  groupSchedules: {
    ...schedules,
    title: "title.groupSchedules",
    columns: ["scheduleName", "groupName", ...ofSchedule],
    deletePath: "/group_schedule_publish",
  },
  connectLogs: {
    path: "/device_connect_logs",
    form: null,
    title: "title.connectLogs",
    columns: ["deviceName", "connectStatus", "IP", "keepAlive", "createAt"],
    search: "deviceName",
    canDelete: false,
  },
} as const satisfies Readonly<Record<string, Resource>>;

const ofAlerts = {
  currentAlerts: {
    path: "/current_alerts",
    form: null,
    title: "title.currentAlerts",
    columns: ["alertName", "alertContent", "alertSeverity", "deviceName", "alertTimes", "startTime"],
    search: "alertName",
    canDelete: true,
  },
  historyAlerts: {
    path: "/history_alerts",
    form: null,
    title: "title.historyAlerts",
    columns: [
      "alertName",
      "alertContent",
      "alertSeverity",
      "deviceName",
      "alertTimes",
      "startTime",
      "endTime",
    ],
    search: "alertName",
    canDelete: true,
  },
  alertRules: {
    path: "/alert_rules",
    form: "AlertRule",
    title: "title.alertRules",
    columns: ["alertName", "dataPointName", "condition", "alertSeverity", "duration"],
    search: "alertName",
    canDelete: true,
    references: { dataPointIntID: dataPoint },
  },
  contactPoints: {
    path: "/contact_points",
    form: "ContactPoint",
    title: "title.contactPoints",
    columns: ["name", "type", "enable", "language", "createAt"],
    page: ({ id }) => `/contact-points/${id}`,
    canDelete: true,
  },
  alertRoutes: {
    path: "/alert_routes",
    form: "AlertRoute",
    title: "title.alertRoutes",
    columns: ["name", "enable", "severities", "alertName", "wait", "repeatInterval"],
    canDelete: true,
    references: { productIntID: productRecord, groupIntID: group, deviceIntID: device },
  },
  silences: {
    path: "/silences",
    form: "Silence",
    title: "title.silences",
    columns: ["comment", "alertName", "severities", "startTime", "endTime"],
    canDelete: true,
    references: { productIntID: productRecord, groupIntID: group, deviceIntID: device },
  },
  notifications: {
    path: "/notifications",
    form: null,
    title: "title.notifications",
    columns: ["subject", "contactPointName", "status", "attempts", "answer", "createAt"],
    canDelete: false,
  },
} as const satisfies Readonly<Record<string, Resource>>;

const ofAccess = {
  users: {
    path: "/users",
    form: "User",
    title: "title.users",
    columns: ["username", "role", "createAt"],
    right: "admin",
    canDelete: true,
  },
  apiKeys: {
    path: "/api_keys",
    form: "ApiKey",
    title: "title.apiKeys",
    columns: ["name", "appID", "role", "expiresAt", "createAt"],
    right: "admin",
    canDelete: true,
  },
  policies: {
    path: "/policies",
    form: "Policy",
    title: "title.policies",
    columns: ["name", "topic", "access", "allow", "createAt"],
    search: "name",
    page: ({ id }) => `/policies/${id}`,
    canDelete: true,
  },
  subscriptions: {
    path: "/subscriptions",
    form: "Subscription",
    title: "title.subscriptions",
    columns: ["topic", "qos", "createAt"],
    canDelete: true,
    isFixed: true,
  },
  certs: {
    path: "/certs",
    form: "Cert",
    title: "title.certs",
    columns: ["name", "enable", "createAt"],
    search: "name",
    page: ({ id }) => `/certs/${id}`,
    canDelete: true,
  },
  changes: {
    path: "/changes",
    form: null,
    title: "title.changes",
    columns: ["entity", "action", "recordID", "username", "createAt"],
    right: "admin",
    canDelete: false,
  },
} as const satisfies Readonly<Record<string, Resource>>;

/** Devices as the lists of what is bound to something have them. */
export const boundDevices = {
  title: "nav.devices",
  columns: ["deviceName", "deviceID"],
  page: ({ id }: Row) => `/devices/${id}`,
} as const;

export const resources = { ...ofProducts, ...ofDevices, ...ofAlerts, ...ofAccess };
