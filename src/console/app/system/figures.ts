/** What GET /overview says of how the service does, and from when on that is not well. */
import { numberText } from "../charts/numbers.js";

interface Refused {
  readonly reason: string;
  readonly count: number;
}

export interface HealthFigures {
  readonly refused: readonly Refused[];
  /** Acknowledged, and not to be read yet. */
  readonly lag: { readonly messages: number; readonly seconds: number };
  readonly commit: { readonly p50Ms: number; readonly p99Ms: number };
  readonly disk: { readonly freeBytes: number; readonly isFull: boolean };
}

/** Figures for operators of the deployment. */
export interface DeploymentFigures {
  readonly connections: number;
  readonly eventLoopDelayP99Ms: number;
  readonly degraded: Readonly<Record<string, string>>;
  readonly version: string;
  readonly engine: string;
  readonly timezones: { readonly version: string | null; readonly warning: string | null };
  readonly startedAt: number;
}

export const refreshMs = 2000;
export const lagSecondsWarn = 10;
export const gigabyte = 1e9;

export const inHundredths = (value: number): string => numberText(Math.round(value * 100) / 100);
