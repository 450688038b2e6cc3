import { containing } from "../db/containing.js";
import type { Condition, Statement } from "../db/db.js";

/** What rows of the fleet, devices and gateways, must be like; an absent filter lets all pass. */
export interface FleetFilters {
  /** In one of `searched`, in any case. */
  readonly q?: string | undefined;
  readonly productIntID?: number | undefined;
  readonly groupIntID?: number | undefined;
  readonly deviceStatus?: number | undefined;
  readonly blocked?: number | undefined;
  /** 1: with a current alert; 0: without. */
  readonly hasAlert?: number | undefined;
  readonly kind?: "device" | "gateway" | undefined;
}

const searched = ["deviceID", "deviceName", "deviceUsername", "serialNumber"] as const;

/** Columns by which `fleet_count` keeps how many there are. */
const keptColumns = ["productIntID", "kind", "deviceStatus", "blocked"] as const;

/** Whether all filters are on columns by which counts are kept. */
export function hasKeptCount({ q, groupIntID, hasAlert }: FleetFilters): boolean {
  return q === undefined && groupIntID === undefined && hasAlert === undefined;
}

export function isUnfiltered(filters: FleetFilters): boolean {
  return Object.values(filters).every((value) => value === undefined);
}

/** The filters on kept columns, as a condition on `r`: a row of `device` or of `fleet_count`. */
export function keptCondition(tenant: number, filters: FleetFilters): Condition {
  return joined([
    { sql: "r.tenant = ?", args: [tenant] },
    ...keptColumns.flatMap((column) => {
      const value = filters[column];
      return value === undefined ? [] : [{ sql: `r.${column} = ?`, args: [value] }];
    }),
  ]);
}

export const currentAlerts = `select 1 from alert a
  where a.tenant = r.tenant and a.deviceIntID = r.id and a.endTime is null`;

/** All filters, as a condition on a row `r` of `device`. */
export function fleetCondition(tenant: number, filters: FleetFilters): Condition {
  const { q, groupIntID, hasAlert } = filters;
  const parts: Statement[] = [keptCondition(tenant, filters)];
  if (groupIntID !== undefined) {
    const member = "select 1 from group_member m where m.groupIntID = ? and m.deviceIntID = r.id";
    parts.push({ sql: `exists (${member})`, args: [groupIntID] });
  }
  if (hasAlert !== undefined) parts.push({ sql: `${hasAlert === 1 ? "" : "not "}exists (${currentAlerts})` });
  if (q !== undefined) {
    const either = searched.map((column) => containing(`r.${column}`, q));
    parts.push({
      sql: `(${either.map(({ sql }) => sql).join(" or ")})`,
      args: either.flatMap(({ args = [] }) => args),
    });
  }
  return joined(parts);
}

function joined(parts: readonly Statement[]): Condition {
  return {
    sql: parts.map(({ sql }) => sql).join(" and "),
    args: parts.flatMap(({ args = [] }) => args),
  };
}
