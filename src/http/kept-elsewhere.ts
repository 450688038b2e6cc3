/** Thrown by a handler: what is asked for is at another node of the cluster, and the frame asks that one. */
export class KeptElsewhere extends Error {
  /** @param node null: none has it now */
  constructor(readonly node: number | null) {
    super(node === null ? "kept by no node now" : `kept by node ${node}`);
    this.name = "KeptElsewhere";
  }
}
