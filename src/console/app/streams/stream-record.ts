/** What GET /data_streams/{id} answers, as far as it is shown. */
export interface StreamRecord {
  readonly id: number;
  readonly streamName: string;
  readonly topic: string;
  readonly streamDataType: number;
  readonly streamTypeLabel: string | null;
  readonly streamDataTypeLabel: string | null;
  readonly productID: string;
  readonly productName: string;
  readonly detail: string | null;
  /** Record ids, in the order of the stream. */
  readonly dataPoints: readonly number[];
}
