/** The caller of a request, and what the caller's role permits. */
import type { Actor, CallerCredential } from "../../store/metadata/db/changes.js";
import type { Role } from "../../store/metadata/users/users.js";
import { ApiError } from "./errors.js";

/** A caller always belongs to one tenant. */
export interface ApiCaller extends Actor {
  readonly tenantID: string;
  readonly userIntID: number;
  readonly username: string;
  readonly role: Role;
  readonly credential: CallerCredential;
}

/** The access that a route requires of its caller; `share`: the token of a shared dashboard, and nobody's rights. */
export type Access = "public" | "share" | "read" | "write" | "command" | "admin";

const granted: Readonly<Record<Role, ReadonlySet<Access>>> = {
  admin: new Set<Access>(["read", "write", "command", "admin"]),
  operator: new Set<Access>(["read", "write", "command"]),
  viewer: new Set<Access>(["read"]),
};

/** The tenant of the first start runs the deployment. */
const deploymentTenant = 1;

export function isDeployment(caller: ApiCaller): boolean {
  return caller.tenant === deploymentTenant;
}

/** Matters of every tenant are reserved for the deployment's own tenant. @throws ApiError PERMISSION_DENIED */
export function requireDeployment(caller: ApiCaller): void {
  if (isDeployment(caller)) return;
  throw new ApiError("PERMISSION_DENIED", "only the deployment's own tenant may do this");
}

export function mayCall(role: Role, access: Access): boolean {
  return access === "public" || granted[role].has(access);
}

/** A key has the lower of its own role and its user's. */
export function lowerRole(one: Role, other: Role): Role {
  return granted[one].size < granted[other].size ? one : other;
}
