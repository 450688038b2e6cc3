import type { SessionRegistry } from "./session-registry.js";

/** Devices that are asked for at once. */
const devicesPerRead = 5000;

/**
 * Drops what is held for devices that no longer exist: no record says that a device was deleted, so a killed run
 * brings its sessions back, and a node that is off does not hear of it.
 */
export async function forgetDeletedSessions(
  registry: Pick<SessionRegistry, "all" | "forget">,
  existing: (devices: readonly number[]) => Promise<ReadonlySet<number>>,
): Promise<void> {
  const devices = [...registry.all()].map(({ device }) => device);
  for (let at = 0; at < devices.length; at += devicesPerRead) {
    const some = devices.slice(at, at + devicesPerRead);
    const there = await existing(some);
    for (const device of some) if (!there.has(device)) registry.forget(device);
  }
}
