import type { AppDeps } from "../deps.js";
import type { Route } from "../http/route.js";

export function certBindingRoutes(_deps: AppDeps): Route[] {
  return [];
}
