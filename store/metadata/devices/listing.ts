import { formatBytesSql } from "../db/page-bytes.js";
import { deviceTexts } from "../db/schema-search.js";
import { type FilterColumn, integerColumn, type Listing, real, stamps, textColumn } from "../db/table.js";

/** Rows of the device table as lists show and filter them. */

const select = `r.*, p.productID, p.productName, p.cloudProtocol, t.tenantID,
    g.deviceName gatewayName, d.deviceName parentDeviceName`;
const from = `device r join product p on p.id = r.productIntID join tenant t on t.id = r.tenant
    left join device g on g.id = r.gateway left join device d on d.id = r.parentDevice`;

const bytes = formatBytesSql("r.description", "r.location", "r.lora", "r.metaData", "r.scopes");

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
  deviceID: textColumn("deviceID"),
  deviceUsername: textColumn("deviceUsername"),
  productID: { column: "p.productID", type: "text" },
  productName: { column: "p.productName", type: "text" },
  productIntID: integerColumn("productIntID"),
  cloudProtocol: { column: "p.cloudProtocol", type: "integer" },
  authType: integerColumn("authType"),
  blocked: integerColumn("blocked"),
  deviceStatus: integerColumn("deviceStatus"),
  manufacturer: textColumn("manufacturer"),
  serialNumber: textColumn("serialNumber"),
  softVersion: textColumn("softVersion"),
  hardwareVersion: textColumn("hardwareVersion"),
  description: textColumn("description"),
  location: textColumn("location"),
  deviceConsoleIP: textColumn("deviceConsoleIP"),
  deviceConsolePort: integerColumn("deviceConsolePort"),
  deviceConsoleUsername: textColumn("deviceConsoleUsername"),
  userIntID: integerColumn("userIntID"),
  ...stamps,
} satisfies Listing["filters"];

const filters = {
  ...commonFilters,
  deviceName: textColumn("deviceName"),
  deviceType: integerColumn("deviceType"),
  /** Online or not; a sleeping device counts as online. */
  status: { column: "min(r.deviceStatus, 1)", type: "integer" },
  upLinkSystem: integerColumn("upLinkSystem"),
  gateway: integerColumn("gateway"),
  parentDevice: integerColumn("parentDevice"),
  modBusIndex: integerColumn("modBusIndex"),
  carrier: integerColumn("carrier"),
  physicalNetwork: integerColumn("physicalNetwork"),
  IMEI: textColumn("IMEI"),
  IMSI: textColumn("IMSI"),
  autoSub: integerColumn("autoSub"),
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
    gatewayName: textColumn("deviceName"),
    deviceCount: { column: countBelow, type: "integer" },
    gatewayProtocol: integerColumn("gatewayProtocol"),
    upLinkNetwork: integerColumn("upLinkNetwork"),
    upLinkProtocol: integerColumn("upLinkProtocol"),
    mac: textColumn("mac"),
  },
};
