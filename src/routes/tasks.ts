import type { AppDeps } from "../deps.js";
import type { Route } from "../http/route.js";

export function taskRoutes(_deps: AppDeps): Route[] {
  return [];
}
