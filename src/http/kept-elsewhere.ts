import { ApiError } from "./errors.js";

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

/** The node that keeps what is asked for has ended the link before it has answered: it may have stopped. */
export class KeeperLost extends ApiError {
  constructor(message: string) {
    super("SERVICE_UNAVAILABLE", message);
    this.name = "KeeperLost";
  }
}
