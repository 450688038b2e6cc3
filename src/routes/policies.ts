import type { AppDeps } from "../deps.js";
import type { Route } from "../http/route.js";

export function policyRoutes(_deps: AppDeps): Route[] {
  return [];
}
