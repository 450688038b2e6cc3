/** What POST /devices/{id}/explain says of a message, as far as it is shown. */

interface Refusal {
  readonly key: string | null;
  readonly value: string | null;
  readonly reason: string;
  readonly count: number;
  readonly text: string;
}

export interface BinaryField {
  readonly dataPointID: string;
  /** Bytes, the last not included. */
  readonly from: number;
  readonly to: number;
}

interface Parts {
  readonly points: readonly {
    readonly dataPointID: string;
    readonly value: unknown;
    readonly time: number;
    readonly from: { readonly key: string } | { readonly fromByte: number; readonly toByte: number };
  }[];
  readonly refused: readonly Refusal[];
  readonly unknownKeys: readonly {
    readonly key: string;
    readonly suggestion: string | null;
    readonly isInProduct: boolean;
  }[];
}

export interface Explained extends Parts {
  readonly form: {
    readonly taken: string | null;
    readonly isEnvelope: boolean;
    readonly others: readonly { readonly form: string; readonly why: string }[];
  };
  readonly stream: { readonly id: number; readonly streamName: string } | null;
  readonly isDiscarded: boolean;
  readonly isTruncated: boolean;
  readonly binary: readonly BinaryField[] | null;
  readonly entries: {
    readonly items: readonly (Parts & { readonly deviceID: string | null; readonly state: string })[];
    readonly count: number;
  } | null;
}
