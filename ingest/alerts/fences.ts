import { circle, type Fence, type LngLat, polygon } from "./geofence.js";

/** A fence of a device: 1 active area, which it may not leave; 2 forbidden area, which it may not enter. */
export interface FenceScope {
  readonly cause: string;
  readonly name: string;
  readonly isForbidden: boolean;
  readonly contains: Fence;
  /** What a look at it costs, in the unit of a formula's weight. */
  readonly weight: number;
}

interface StoredScope {
  readonly scopeType?: unknown;
  readonly scopeName?: unknown;
  readonly points?: readonly LngLat[];
  readonly center?: LngLat;
  readonly radius?: number;
}

const forbidden = 2;
const circleWeight = 8;

export const weightOfScopes = (scopes: readonly FenceScope[]): number =>
  scopes.reduce((sum, { weight }) => sum + weight, 0);

const known = new WeakMap<readonly unknown[], readonly FenceScope[]>();

/** The fences of a device's record; compiled once for each edit of it. */
export function parseScopes(stored: readonly unknown[]): readonly FenceScope[] {
  let scopes = known.get(stored);
  if (scopes === undefined) {
    const names = new Map<string, number>();
    scopes = (stored as readonly StoredScope[]).flatMap((one) => {
      const name = String(one.scopeName ?? "");
      const before = names.get(name) ?? 0;
      names.set(name, before + 1);
      return toScope(one, name, before);
    });
    known.set(stored, scopes);
  }
  return scopes;
}

/** Fences of one name are numbered among themselves: a cause stays the same when fences of other names are removed. */
function toScope(
  { scopeType, points, center, radius }: StoredScope,
  name: string,
  before: number,
): FenceScope[] {
  const common = { cause: `scope:${before}:${name}`, name, isForbidden: scopeType === forbidden };
  if (points !== undefined) return [{ ...common, contains: polygon(points), weight: points.length }];
  return center === undefined
    ? []
    : [{ ...common, contains: circle(center, radius ?? 0), weight: circleWeight }];
}
