import { ApiError } from "./errors.js";

/**
 * A handler throws this when another node owns the requested data; the frame then forwards the request to that node.
 */
export class RemoteShard extends Error {
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

/** The owner ended the link before it answered: it may have stopped. */
export class OwnerLost extends ApiError {
  constructor(message: string) {
    super("SERVICE_UNAVAILABLE", message);
    this.name = "KeeperLost";
  }
}
