import type { AppDeps } from "../deps.js";
import type { Route } from "../http/route.js";

export function scheduleRoutes(_deps: AppDeps): Route[] {
  return [];
}
