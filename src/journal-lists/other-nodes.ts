/** What the other nodes of a cluster have of a list, as each answers for itself. */
import { asError } from "../../store/lib/errors.js";

export interface OtherNodes {
  /** Their numbers. */
  readonly others: readonly number[];
  /** A node's answer to a call, as JSON. @throws Error if it does not answer */
  call(node: number, body: object, timeoutMs: number): Promise<unknown>;
  readonly onFault: (error: Error) => void;
}

const askMs = 5000;

/** One for each node; null for one that does not answer, or not with what it was asked for. */
export function askOthers<Part>(
  { others, call, onFault }: OtherNodes,
  bodyFor: (node: number) => object,
  read: (node: number, answer: unknown) => Part,
  timeoutMs = askMs,
): Promise<(Part | null)[]> {
  return Promise.all(
    others.map((node) =>
      call(node, bodyFor(node), timeoutMs)
        .then((answer) => read(node, answer))
        .catch((error: unknown) => {
          onFault(asError(error));
          return null;
        }),
    ),
  );
}
