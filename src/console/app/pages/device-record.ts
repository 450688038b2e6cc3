/** What GET /devices/{id} answers, as far as it is shown. */
export interface DeviceRecord {
  readonly id: number;
  readonly deviceID: string;
  readonly deviceName: string;
  readonly deviceUsername: string;
  readonly token: string | null;
  readonly authType: number;
  readonly blocked: number;
  readonly deviceStatus: number;
  readonly productID: string;
  readonly productIntID: number;
  readonly productName: string;
  /** The record id of the gateway that it is on. */
  readonly gateway: number | null;
  readonly gatewayName: string | null;
  readonly clientIP: string | null;
  readonly connectedAt: number | null;
  readonly description: string | null;
}
