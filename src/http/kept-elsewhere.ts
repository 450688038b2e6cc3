/** Thrown by a handler: what is asked for is at another node of the cluster, and the frame asks that one. */
export class KeptElsewhere extends Error {
  /**
   * @param node null: none has it now
   * @param shard whose it is; null: it is of that node
   */
  constructor(
    readonly node: number | null,
    readonly shard: number | null = null,
  ) {
    super(node === null ? "kept by no node now" : `kept by node ${node}`);
    this.name = "KeptElsewhere";
  }
}
