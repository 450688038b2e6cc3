import type { AppDeps } from "../deps.js";
import type { Route } from "../http/route.js";

export function groupMemberRoutes(_deps: AppDeps): Route[] {
  return [];
}
