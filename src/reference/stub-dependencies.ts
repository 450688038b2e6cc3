import type { AppDeps } from "../routes/deps.js";

/** Stands for everything that handlers use where routes are only listed, not called. */
export function inertDeps(): AppDeps {
  const nothing: object = new Proxy(() => undefined, {
    get: (_target, key) => (key === "then" ? undefined : nothing),
    apply: () => nothing,
  });
  return nothing as AppDeps;
}
