import type { AppDeps } from "../routes/deps.js";

/** Stands for all that handlers use, where routes are listed and none is called. */
export function inertDeps(): AppDeps {
  const nothing: object = new Proxy(() => undefined, {
    get: (_target, key) => (key === "then" ? undefined : nothing),
    apply: () => nothing,
  });
  return nothing as AppDeps;
}
