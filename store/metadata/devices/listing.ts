import { bytesOf } from "../db/page-bytes.js";
import { deviceTexts } from "../db/schema-search.js";
import { type FilterColumn, integer, type Listing, real, stamps, text } from "../db/table.js";

/** Rows of the device table as lists show and filter them. */

const select = `r.*, p.productID, p.productName, p.cloudProtocol, t.tenantID,
    g.deviceName gatewayName, d.deviceName parentDeviceName`;
const from = `device r join product p on p.id = r.productIntID join tenant t on t.id = r.tenant
    left join device g on g.id = r.gateway left join device d on d.id = r.parentDevice`;

const bytes = bytesOf("r.description", "r.location", "r.lora", "r.metaData", "r.scopes");

const kept = {
  counts: [
    { from: "device_block r", filters: [] },
    {
      from: "product_device_count r join product p on p.id = r.productIntID",
      filters: ["productID", "productName", "productIntID"],
    },
  ],
  blocks: "device_block",
  texts: deviceTexts,
} satisfies Pick<Listing, "counts" | "blocks" | "texts">;

/** Filters of both devices and gateways. */
const commonFilters = {
  deviceID: text("deviceID"),
  deviceUsername: text("deviceUsername"),
  productID: { column: "p.productID", type: "text" },
  productName: { column: "p.productName", type: "text" },
  productIntID: integer("productIntID"),
  cloudProtocol: { column: "p.cloudProtocol", type: "integer" },
  authType: integer("authType"),
  blocked: integer("blocked"),
  deviceStatus: integer("deviceStatus"),
  manufacturer: text("manufacturer"),
  serialNumber: text("serialNumber"),
  softVersion: text("softVersion"),
  hardwareVersion: text("hardwareVersion"),
  description: text("description"),
  location: text("location"),
  deviceConsoleIP: text("deviceConsoleIP"),
  deviceConsolePort: integer("deviceConsolePort"),
  deviceConsoleUsername: text("deviceConsoleUsername"),
  userIntID: integer("userIntID"),
  ...stamps,
} satisfies Listing["filters"];

const filters = {
  ...commonFilters,
  deviceName: text("deviceName"),
  deviceType: integer("deviceType"),
  /** Online or not; a sleeping device counts as online. */
  status: { column: "min(r.deviceStatus, 1)", type: "integer" },
  upLinkSystem: integer("upLinkSystem"),
  gateway: integer("gateway"),
  parentDevice: integer("parentDevice"),
  modBusIndex: integer("modBusIndex"),
  carrier: integer("carrier"),
  physicalNetwork: integer("physicalNetwork"),
  IMEI: text("IMEI"),
  IMSI: text("IMSI"),
  autoSub: integer("autoSub"),
  latitude: real("latitude"),
  longitude: real("longitude"),
  tenantID: { column: "t.tenantID", type: "text" },
  groupID: {
    column: "r.id",
    type: "text",
    where: `r.id in (select m.deviceIntID from group_member m
      join device_group o on o.id = m.groupIntID where o.groupID = ?)`,
  },
} satisfies Listing["filters"];

/** Devices. */
export const devices: Listing = { select, from, bytes, filters, ...kept, short: true };

/** The codes of the interface's Variant B. */
const kindCode = {
  column: "case when r.kind = 'gateway' then 1 when r.deviceType = 3 then 2 else 0 end",
  type: "integer",
} as const satisfies FilterColumn;
/** Devices and gateways together; deviceType takes 0 terminal, 1 gateway, 2 smartphone. */
export const everyKind: Listing = { ...devices, filters: { ...filters, deviceType: kindCode } };

const countBelow = "(select count(*) from device b where b.gateway = r.id)";
export const gateways: Listing = {
  ...kept,
  select: `${select}, ${countBelow} deviceCount`,
  from,
  bytes,
  filters: {
    ...commonFilters,
    gatewayName: text("deviceName"),
    deviceCount: { column: countBelow, type: "integer" },
    gatewayProtocol: integer("gatewayProtocol"),
    upLinkNetwork: integer("upLinkNetwork"),
    upLinkProtocol: integer("upLinkProtocol"),
    mac: text("mac"),
  },
};
