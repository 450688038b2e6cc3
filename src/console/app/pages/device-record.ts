/** What GET /devices/{id} answers, as far as it is shown. */
export interface DeviceRecord {
  readonly id: number;
  readonly deviceID: string;
  readonly deviceName: string;
  readonly deviceUsername: string;
  readonly token: string | null;
  readonly authType: number;
  readonly blocked: number;
  /** Variant B has it as `status`. */
  readonly deviceStatus?: number;
  readonly status?: number;
  readonly productID: string;
  /** Variant B names the product by its string id alone. */
  readonly productIntID?: number;
  readonly productName?: string;
  readonly clientIP: string | null;
  readonly connectedAt: number | null;
  readonly description: string | null;
}

export const statusOf = ({ deviceStatus, status }: DeviceRecord): number => deviceStatus ?? status ?? 0;
