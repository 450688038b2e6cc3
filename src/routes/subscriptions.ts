import type { AppDeps } from "../deps.js";
import type { Route } from "../http/route.js";

export function subscriptionRoutes(_deps: AppDeps): Route[] {
  return [];
}
