import type { AppDeps } from "../routes/deps.js";

/** Stands for everything that handlers use, when routes are only listed and not called. */
export function inertDeps(): AppDeps {
  const nothing: object = new Proxy(() => undefined, {
    get: (_target, key) => (key === "then" ? undefined : nothing),
    apply: () => nothing,
  });
  return nothing as AppDeps;
}
