/** Thrown by a handler: what is asked for is at another node of the cluster, and the frame asks that one. */
export class KeptElsewhere extends Error {
  constructor(readonly node: number) {
    super(`kept by node ${node}`);
    this.name = "KeptElsewhere";
  }
}
