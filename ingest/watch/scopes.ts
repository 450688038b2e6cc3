import { circle, type Fence, type LngLat, polygon } from "./geofence.js";

/** A fence of a device: 1 active area, which it may not leave; 2 forbidden area, which it may not enter. */
export interface Scope {
  readonly cause: string;
  readonly name: string;
  readonly isForbidden: boolean;
  readonly contains: Fence;
}

interface StoredScope {
  readonly scopeType?: unknown;
  readonly scopeName?: unknown;
  readonly points?: readonly LngLat[];
  readonly center?: LngLat;
  readonly radius?: number;
}

const forbidden = 2;

const known = new WeakMap<readonly unknown[], readonly Scope[]>();

/** The fences of a device's record; compiled once for each edit of it. */
export function scopesOf(stored: readonly unknown[]): readonly Scope[] {
  let scopes = known.get(stored);
  if (scopes === undefined) {
    scopes = stored.flatMap((one, at) => toScope(one as StoredScope, at));
    known.set(stored, scopes);
  }
  return scopes;
}

/** Two fences of one name are told apart by their place in the list. */
function toScope({ scopeType, scopeName, points, center, radius }: StoredScope, at: number): Scope[] {
  const name = String(scopeName ?? "");
  const common = { cause: `scope:${at}:${name}`, name, isForbidden: scopeType === forbidden };
  if (points !== undefined) return [{ ...common, contains: polygon(points) }];
  return center === undefined ? [] : [{ ...common, contains: circle(center, radius ?? 0) }];
}
