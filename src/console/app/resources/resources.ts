/** The resources that are lists with forms: what is shown of each, and what may be done with it. */
import type { TextKey } from "../texts/texts.js";
import { beyondName } from "./beyond-name.js";

export type Row = Readonly<Record<string, unknown>> & { readonly id: number };

export interface Resource {
  /** The path in the API, below /api/v1. */
  readonly path: string;
  /** The name of the schemas of its forms. Null: records are neither created nor edited. */
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
  /** Fields that its own page edits, and its form does not ask for. */
  readonly elsewhere?: readonly string[];
  /** The API answers all of it at once: it is searched and paged here. */
  readonly isWhole?: true;
  /** For administrators of the deployment's own tenant alone. */
  readonly isOfDeployment?: true;
  /** Where it is deleted, if that is not where it is listed. */
  readonly deletePath?: string;
  /** Made and deleted, and never changed. */
  readonly isFixed?: true;
  /** Where deletion is something else: its name, and what is asked before. */
  readonly removal?: { readonly name: TextKey; readonly sure: TextKey };
  readonly filters?: readonly Filter[];
  /** Columns that lead elsewhere; null where a row has nowhere. */
  readonly links?: Readonly<Record<string, (row: Row) => Link | null>>;
  /** Columns that a list shows otherwise than the record has them. */
  readonly shown?: Readonly<Record<string, (row: Row) => unknown>>;
  /** The kind of live event after which the list is queried again. */
  readonly liveKind?: "alerts" | "commands";
  /** What will stand in the list, and the API's command that makes it. */
  readonly beginning?: Beginning;
  /** Fields that name other records. */
  readonly references?: Readonly<Record<string, Reference>>;
}

/** A filter of a list. The URL has its field as a parameter, a time as `from` and `to`. */
export type Filter =
  | { readonly kind: "code"; readonly field: string; readonly codes: readonly (number | string)[] }
  | { readonly kind: "record"; readonly field: "deviceID" | "productID" }
  | { readonly kind: "text"; readonly field: string }
  | { readonly kind: "time" };

interface Link {
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
}

export interface Beginning {
  readonly text: TextKey;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Users without this right see no command; absent: write. */
  readonly right?: "write" | "command";
}

/** Records that are chosen from: which of their fields is the value, and which is read. */
export interface Reference {
  readonly path: string;
  readonly value: string;
  readonly label: string;
  /** Restricts the records that can be chosen. */
  readonly scope?: Readonly<Record<string, string | number>>;
}

const product: Reference = { path: "/products", value: "productID", label: "productName" };
const productRecord: Reference = { ...product, value: "id" };
export const dataPoint: Reference = { path: "/data_points", value: "id", label: "dataPointName" };
const gateway: Reference = { path: "/gateways", value: "id", label: "gatewayName" };
export const device: Reference = { path: "/devices", value: "id", label: "deviceName" };
export const policy: Reference = { path: "/policies", value: "id", label: "name" };
export const cert: Reference = { path: "/certs", value: "id", label: "name" };
const group: Reference = { path: "/groups", value: "id", label: "groupName" };

const hourMs = 3_600_000;
const [ofDevice, ofProduct, ofTime] = [
  { kind: "record", field: "deviceID" },
  { kind: "record", field: "productID" },
  { kind: "time" },
] as const satisfies readonly Filter[];
const ofRole = { kind: "code", field: "role", codes: ["admin", "operator", "viewer"] } as const;

/** Records name a device by its record id, or else by its string id: an address takes both. */
function linkDevice({ deviceIntID, deviceID }: Row): Link | null {
  const id = deviceIntID ?? deviceID;
  return id === null || id === undefined ? null : { path: `/devices/${encodeURIComponent(String(id))}` };
}

/** What the device measured about the time at which it began. */
function linkChart({ deviceID, startTime }: Row): Link | null {
  if (typeof deviceID !== "string" || typeof startTime !== "number") return null;
  const [from, to] = [startTime - hourMs, startTime + hourMs].map(String) as [string, string];
  return { path: "/explore", query: { d: deviceID, from, to } };
}

const links = { deviceName: linkDevice };
const shown = {
  alertContent: ({ alertName, alertContent }: Row) =>
    beyondName(String(alertName), typeof alertContent === "string" ? alertContent : null),
};
const alertsBeginning: Beginning = {
  text: "empty.alerts",
  path: "/alert_rules",
  body: {
    alertName: "warm",
    dataPointIntID: 1,
    condition: "dataPoint > 25",
    duration: 60,
    alertSeverity: 2,
  },
};
const alertFilters: readonly Filter[] = [
  { kind: "code", field: "alertSeverity", codes: [1, 2, 3, 4] },
  ofDevice,
  ofProduct,
  ofTime,
];

const ofProducts = {
  products: {
    path: "/products",
    form: "Product",
    title: "nav.products",
    columns: ["productName", "productID", "cloudProtocol", "deviceCount", "dataPointCount", "createAt"],
    search: "productName",
    page: ({ id }) => `/products/${id}`,
    canDelete: true,
    beginning: {
      text: "empty.products",
      path: "/products",
      body: { productName: "Greenhouse", cloudProtocol: 1 },
    },
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
    page: ({ id }) => `/streams/${id}`,
    canDelete: true,
    elsewhere: ["dataPoints"],
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
  ...(["scheduleType", "crontabTime", "IntervalMinute", "crontab", "nextAt"] as const),
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

export const devicesBeginning: Beginning = {
  text: "empty.devices",
  path: "/devices",
  body: {
    ...{ deviceName: "House 1", deviceID: "gh-1", productID: "PRODUCT", deviceType: 1 },
    ...{ upLinkSystem: 1, cloudProtocol: 1, authType: 1 },
  },
};

export const gatewayDevicesBeginning = (gateway: number): Beginning => ({
  ...devicesBeginning,
  text: "gateway.noDevices",
  body: { ...devicesBeginning.body, upLinkSystem: 2, gateway },
});

const ofDevices = {
  devices: {
    path: "/devices",
    form: "Device",
    title: "nav.devices",
    columns: ["deviceName", "deviceID", "productName", "deviceStatus", "createAt"],
    search: "deviceName",
    page: ({ id }) => `/devices/${id}`,
    canDelete: true,
    beginning: devicesBeginning,
    references: { productID: product, gateway, parentDevice: device },
  },
  gateways: {
    path: "/gateways",
    form: "Gateway",
    title: "title.gateways",
    columns: ["gatewayName", "deviceID", "productName", "deviceStatus", "deviceCount"],
    search: "gatewayName",
    page: ({ id }) => `/gateways/${id}`,
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
    filters: [{ kind: "code", field: "publishStatus", codes: [0, 1, 2, 3] }, ofDevice, ofTime],
    links,
    liveKind: "commands",
    beginning: {
      text: "empty.commands",
      path: "/device_publish",
      body: { deviceID: "gh-1", payload: '{"vent": "open"}' },
      right: "command",
    },
  },
  deviceSchedules: {
    ...schedules,
    title: "title.deviceSchedules",
    columns: ["scheduleName", "deviceName", ...ofSchedule],
    links,
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
    filters: [{ kind: "code", field: "connectStatus", codes: [0, 1, 2] }, ofDevice, ofTime],
    links,
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
    filters: alertFilters,
    links: { ...links, startTime: linkChart },
    shown,
    liveKind: "alerts",
    removal: { name: "alert.end", sure: "alert.sureEnd" },
    beginning: alertsBeginning,
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
    filters: alertFilters,
    links: { ...links, startTime: linkChart },
    shown,
    liveKind: "alerts",
    beginning: alertsBeginning,
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
    columns: ["contactPointName", "status", "kind", "alertCount", "attempts", "answer", "createAt"],
    search: "contactPointName",
    canDelete: false,
    filters: [{ kind: "code", field: "status", codes: ["waiting", "delivered", "failed"] }, ofTime],
  },
} as const satisfies Readonly<Record<string, Resource>>;

const ofAccess = {
  users: {
    path: "/users",
    form: "User",
    title: "title.users",
    columns: ["username", "role", "createAt"],
    search: "username",
    filters: [ofRole],
    right: "admin",
    canDelete: true,
  },
  apiKeys: {
    path: "/api_keys",
    form: "ApiKey",
    title: "title.apiKeys",
    columns: ["name", "appID", "role", "expiresAt", "createAt"],
    search: "name",
    filters: [ofRole],
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
  tenants: {
    path: "/tenants",
    form: "Tenant",
    title: "title.tenants",
    columns: ["tenantName", "tenantID", "createAt"],
    search: "tenantName",
    right: "admin",
    isOfDeployment: true,
    isWhole: true,
    isFixed: true,
    canDelete: false,
  },
  changes: {
    path: "/changes",
    form: null,
    title: "title.changes",
    columns: ["entity", "action", "recordID", "username", "at"],
    search: "username",
    filters: [
      { kind: "text", field: "entity" },
      { kind: "code", field: "action", codes: ["create", "update", "delete"] },
      ofTime,
    ],
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
