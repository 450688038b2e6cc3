/** What /readyz and /metrics ask of the running service. */
export interface Status {
  /** Null while uplinks are taken; otherwise why not. */
  notReady(): string | null;
  /** What works less than it should, by name. */
  degraded(): Readonly<Record<string, string>>;
  /** Prometheus text. */
  metrics(): string;
}
