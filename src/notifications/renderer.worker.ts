import { parentPort } from "node:worker_threads";
import { openSandbox, type Sandbox } from "../../ingest/sandbox/sandbox.js";
import {
  type FromRenderer,
  renderedLengthMax,
  type Templates,
  type ToRenderer,
} from "./template-messages.js";
import { templateProgram } from "./template-program.js";

/** Renders templates of tenants in a thread of its own, where a sandbox limits what they compute. */

const port = parentPort;
if (port === null) throw new Error("renderer.worker runs in a worker thread only");

/** Limits for one text; twenty alerts with ten filters each take 100 steps. */
const limits = { stepsMax: 1000, outputLengthMax: renderedLengthMax } as const;

/** Kept for the next templates as long as none fails. */
let sandbox: Sandbox | null = await openSandbox(templateProgram);

async function render({ templates, document, timezone }: ToRenderer): Promise<FromRenderer> {
  const rendered: { -readonly [Field in keyof Templates]: Templates[Field] } = { subject: null, body: null };
  for (const field of ["subject", "body"] as const) {
    const template = templates[field];
    if (template === null) continue;
    sandbox ??= await openSandbox(templateProgram);
    try {
      rendered[field] = String(sandbox.call("render", { template, document, timezone }, limits));
    } catch (error) {
      sandbox.close();
      sandbox = null;
      const [reason = ""] = String(error instanceof Error ? error.message : error).split("\n");
      return { field, error: reason.slice(0, 300) };
    }
  }
  return rendered;
}

port.on("message", (message: ToRenderer) => {
  void render(message).then((answer) => port.postMessage(answer));
});
port.postMessage("ready");
