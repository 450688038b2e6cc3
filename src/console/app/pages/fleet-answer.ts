/** What GET /fleet answers. */

export interface FleetRow {
  readonly id: number;
  readonly deviceID: string;
  readonly deviceName: string;
  readonly productName: string;
  readonly isGateway: boolean;
  readonly deviceStatus: number;
  readonly blocked: number;
  readonly lastSeen: number | null;
  readonly currentAlerts: number;
  readonly worstSeverity: number | null;
  readonly values: readonly {
    readonly dataPointIntID: number;
    readonly dataPointName: string;
    readonly unitSymbol: string | null;
    readonly value: unknown;
  }[];
}

export interface FleetAnswer {
  readonly items: readonly FleetRow[];
  readonly next: string | null;
  readonly count: number;
  readonly isCountBounded: boolean;
  readonly facets: {
    readonly deviceStatus: readonly { readonly value: number; readonly count: number }[];
    readonly products: readonly {
      readonly productIntID: number;
      readonly productName: string;
      readonly count: number;
    }[];
  } | null;
}
