import { ApiError } from "./errors.js";

/**
 * A handler throws this when another node owns the requested data; `frame.ts` then forwards the request to that node.
 */
export class RemoteShard extends Error {
  /**
   * @param node the owner; null: no node has the data now
   * @param shard the shard of the data; null: the data belongs to the node itself
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
