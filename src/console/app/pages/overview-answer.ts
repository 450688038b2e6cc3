/** The answer of GET /overview, and the live event that updates it. */
import type { DeploymentFigures, HealthFigures } from "../system/figures.js";

interface Rates {
  /** Milliseconds since 1970, of the last of the seconds. */
  readonly endTime: number;
  readonly messages: readonly number[];
  readonly points: readonly number[];
}

export interface OverviewAnswer extends HealthFigures {
  readonly devices: {
    readonly total: number;
    readonly online: number;
    readonly sleeping: number;
    readonly offline: number;
    readonly blocked: number;
  };
  readonly gateways: number;
  readonly products: number;
  readonly groups: number;
  readonly currentAlerts: {
    readonly total: number;
    readonly bySeverity: readonly { readonly alertSeverity: number; readonly count: number }[];
  };
  /** Null: this process counts no seconds for the tenant. */
  readonly rates: Rates | null;
  readonly deployment: DeploymentFigures | null;
}

export type OverviewEvent = Omit<OverviewAnswer, "deployment">;

/** A live event has only the newest seconds of the rates. */
export function renewed(before: OverviewAnswer, figures: OverviewEvent): OverviewAnswer {
  const rates =
    before.rates === null || figures.rates === null ? figures.rates : appended(before.rates, figures.rates);
  return { ...before, ...figures, rates };
}

function appended(before: Rates, { endTime, messages, points }: Rates): Rates {
  const seconds = Math.round((endTime - before.endTime) / 1000);
  if (seconds < 0) return before;
  // Seconds for which no event came are zero until the next query.
  const moved = (old: readonly number[], more: readonly number[]): number[] =>
    [...old, ...Array<number>(seconds).fill(0)].slice(-old.length, -more.length).concat(more);
  return { endTime, messages: moved(before.messages, messages), points: moved(before.points, points) };
}
