/** Which topics, and the points of which devices, the streams of each tenant ask for. */
import type { LiveTopic } from "./tenant-events.js";

export interface Interest {
  /** Replaces the devices whose points the stream asks for. */
  watch(devices: ReadonlySet<string>): void;
  /** The stream is over: what it asked for is still held for a while, for its return. */
  close(): void;
}

interface Interests {
  /** Whether any stream, of the tenant if one is given, asks for the topic. */
  has(topic: LiveTopic, tenant?: number): boolean;
  watches(tenant: number, deviceID: string): boolean;
  tenantsOf(topic: LiveTopic): number[];
  add(tenant: number, topics: readonly LiveTopic[]): Interest;
  change(tenant: number): void;
  /** Grows with each change. */
  generation(tenant: number): number;
  /** Nobody of the tenant listens any more. */
  forget(tenant: number): void;
}

interface TenantInterest {
  /** How many streams ask for each. */
  readonly topics: Map<LiveTopic, number>;
  readonly devices: Map<string, number>;
  generation: number;
}

/** A client that returns needs only the newest figures, so interest in them ends soon after the last request. */
const figuresHeldMs = 3_000;

export function createInterests(heldMs: number): Interests {
  const tenants = new Map<number, TenantInterest>();

  function of(tenant: number): TenantInterest {
    const known = tenants.get(tenant) ?? { topics: new Map(), devices: new Map(), generation: 0 };
    tenants.set(tenant, known);
    return known;
  }

  return {
    has: (topic, tenant) => {
      if (tenant !== undefined) return tenants.get(tenant)?.topics.has(topic) === true;
      for (const { topics } of tenants.values()) if (topics.has(topic)) return true;
      return false;
    },
    watches: (tenant, deviceID) => tenants.get(tenant)?.devices.has(deviceID) === true,
    tenantsOf: (topic) => [...tenants].flatMap(([tenant, { topics }]) => (topics.has(topic) ? [tenant] : [])),
    add: (tenant, topics) => {
      const own = of(tenant);
      for (const topic of topics) add(own.topics, topic, 1);
      let devices: ReadonlySet<string> = new Set();
      let isOpen = true;
      return {
        watch: (some) => {
          if (!isOpen) return;
          for (const one of some) add(own.devices, one, 1);
          for (const one of devices) add(own.devices, one, -1);
          devices = some;
        },
        close: () => {
          if (!isOpen) return;
          isOpen = false;
          const release = (some: readonly LiveTopic[]): void => {
            for (const topic of some) add(own.topics, topic, -1);
          };
          const isFigures = (topic: LiveTopic): boolean => topic === "overview";
          setTimeout(() => release(topics.filter(isFigures)), Math.min(heldMs, figuresHeldMs)).unref();
          setTimeout(() => {
            release(topics.filter((topic) => !isFigures(topic)));
            for (const one of devices) add(own.devices, one, -1);
          }, heldMs).unref();
        },
      };
    },
    change: (tenant) => {
      const known = tenants.get(tenant);
      if (known !== undefined) known.generation++;
    },
    generation: (tenant) => tenants.get(tenant)?.generation ?? 0,
    forget: (tenant) => tenants.delete(tenant),
  };
}

function add<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
