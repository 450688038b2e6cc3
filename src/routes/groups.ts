import type { AppDeps } from "../deps.js";
import type { Route } from "../http/route.js";

export function groupRoutes(_deps: AppDeps): Route[] {
  return [];
}
