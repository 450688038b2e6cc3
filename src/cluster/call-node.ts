/** A call that this node makes of another, of no client. */
import { request as startRequest } from "node:https";
import { json } from "node:stream/consumers";
import type { ForwardTarget } from "./forward.js";

/** JSON for JSON. @throws Error if the node does not answer with it in time */
export function callNode(
  { agent, host, port }: ForwardTarget,
  body: object,
  timeoutMs: number,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const content = Buffer.from(JSON.stringify(body));
    const headers = { "content-type": "application/json", "content-length": content.length };
    const onward = startRequest({ agent, host, port, method: "POST", path: "/", headers, signal });
    onward.on("error", reject);
    onward.on("response", (answer) => {
      if (answer.statusCode === 200) return void json(answer).then(resolve, reject);
      answer.resume();
      reject(new Error(`the node answered ${answer.statusCode}`));
    });
    onward.end(content);
  });
}
